import { readLocal, writeLocal } from "./local";

/** What somebody typed and did not send, by form, and addresses that the server shows once: in this browser alone, until they are sent, discarded, or somebody logs out. */
type Drafts = Record<string, unknown>;

const all = (): Drafts => readLocal<Drafts>("drafts", {});

export const readDraft = <T>(name: string): T | undefined => all()[name] as T | undefined;

/** undefined: there is none any more. */
export function keepDraft(name: string, draft: unknown): void {
  const { [name]: _, ...others } = all();
  writeLocal("drafts", draft === undefined ? others : { ...others, [name]: draft });
}

const nameOfShare = (id: number) => `address of share ${id}`;
export const keepShareUrl = (id: number, url: string | undefined): void => keepDraft(nameOfShare(id), url);
/** Of a share that was made in this browser. */
export const shareUrl = (id: number): string | undefined => readDraft(nameOfShare(id));

/** Whether two versions of a form say the same: the key of a row says nothing. */
export const isSame = (one: unknown, other: unknown): boolean => plain(one) === plain(other);
const plain = (version: unknown) => JSON.stringify(version, (name, value) => (name === "key" ? undefined : value));

export const forgetDrafts = (): void => writeLocal("drafts", {});
