import { createContextKey } from '@connectrpc/connect';

/** The roles of a call. */
export const rolesKey = createContextKey<ReadonlySet<string>>(new Set());
