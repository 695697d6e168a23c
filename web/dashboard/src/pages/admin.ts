// The pages of administrators are one file: apart, each would pay for what compression finds in all of them.
export { default as Apps } from "./apps";
export { default as Audit } from "./audit";
export { default as Health } from "./health";
export { default as Hosts } from "./hosts";
export { default as Mail } from "./mail";
export { default as Reports } from "./reports";
export { default as User } from "./user";
export { default as Users } from "./users";
