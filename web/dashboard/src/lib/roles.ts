import type { Schemas } from "../api/client";

export type Role = Schemas["WorkspaceRole"];

/** What a member may do in a workspace: each all that those before it may. */
export const ROLES = ["viewer", "editor", "admin", "owner"] as const satisfies readonly Role[];

export const isAtLeast = (role: Role | undefined, least: Role): boolean => role !== undefined && ROLES.indexOf(role) >= ROLES.indexOf(least);
