import type { IncomingMessage } from 'node:http';
import { badRequestError, forbiddenError } from '../errors.ts';
import type { ObjectStorage } from '../storage/store.ts';
import { type ApiUser, authenticatedGroup } from './authentication.ts';
import { authorizeByRbac } from './rbac.ts';

/** The effective user of the request: the caller, or the impersonated user. Throws 403. */
export function resolveImpersonation(storage: ObjectStorage, caller: ApiUser, message: IncomingMessage): ApiUser {
  const user = message.headers['impersonate-user'];
  const groups = groupsIn(message);
  if (typeof user !== 'string') {
    if (groups.length === 0) return caller;
    throw badRequestError('requested [{Group ...}] without impersonating a user');
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  if (account) requireImpersonateRight(storage, caller, 'serviceaccounts', account[2] ?? '', account[1]);
  else requireImpersonateRight(storage, caller, 'users', user);
  for (const group of groups) requireImpersonateRight(storage, caller, 'groups', group);
  const own = account ? ['system:serviceaccounts', `system:serviceaccounts:${account[1]}`] : [];
  const all = groups.length > 0 ? groups : own;
  return {
    name: user,
    groups: [...new Set([...all, user === 'system:anonymous' ? 'system:unauthenticated' : authenticatedGroup])],
  };
}

/** Several headers with the same name are joined by a comma. */
const groupsIn = (message: IncomingMessage): string[] => {
  const raw = message.rawHeaders;
  return raw.filter((_, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === 'impersonate-group');
};

function requireImpersonateRight(
  storage: ObjectStorage,
  caller: ApiUser,
  plural: string,
  name: string,
  namespace?: string,
): void {
  const { allowed } = authorizeByRbac(storage, caller, {
    verb: 'impersonate',
    group: '',
    plural,
    subresource: '',
    namespace,
    name,
  });
  if (allowed) return;
  const where = namespace ? `in the namespace ${JSON.stringify(namespace)}` : 'at the cluster scope';
  throw forbiddenError(
    { group: '', plural, kind: '' },
    name,
    `User ${JSON.stringify(caller.name)} cannot impersonate resource ${JSON.stringify(plural)} in API group "" ${where}`,
  );
}
