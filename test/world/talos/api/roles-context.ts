import { createContextKey } from '@connectrpc/connect';

/** The roles a call is made with. */
export const rolesKey = createContextKey<ReadonlySet<string>>(new Set());
