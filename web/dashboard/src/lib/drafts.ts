import { readLocal, writeLocal } from "./local";

/** What somebody typed and did not send, by form: in this browser alone, until it is sent, discarded, or they log out. */
type Drafts = Record<string, unknown>;

const all = (): Drafts => readLocal<Drafts>("drafts", {});

export const readDraft = <T>(name: string): T | undefined => all()[name] as T | undefined;

/** undefined: there is none any more. */
export function keepDraft(name: string, draft: unknown): void {
  const { [name]: _, ...others } = all();
  writeLocal("drafts", draft === undefined ? others : { ...others, [name]: draft });
}

/** Whether two versions of a form say the same: the key of a row says nothing. */
export const isSame = (one: unknown, other: unknown): boolean => plain(one) === plain(other);
const plain = (version: unknown) => JSON.stringify(version, (name, value) => (name === "key" ? undefined : value));

export const forgetDrafts = (): void => writeLocal("drafts", {});
