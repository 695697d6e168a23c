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

export const forgetDrafts = (): void => writeLocal("drafts", {});
