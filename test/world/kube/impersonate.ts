import type { IncomingMessage } from 'node:http';
import { authenticated, type User } from './authn.ts';
import { badRequest, forbidden } from './errors.ts';
import { authorize } from './rbac.ts';
import type { Storage } from './store.ts';

/** Who the request is to be judged as: the caller, or somebody he may impersonate. Throws 403. */
export function impersonate(storage: Storage, caller: User, message: IncomingMessage): User {
  const user = message.headers['impersonate-user'];
  const groups = groupsIn(message);
  if (typeof user !== 'string') {
    if (groups.length === 0) return caller;
    throw badRequest('requested [{Group ...}] without impersonating a user');
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  if (account) check(storage, caller, 'serviceaccounts', account[2] ?? '', account[1]);
  else check(storage, caller, 'users', user);
  for (const group of groups) check(storage, caller, 'groups', group);
  const own = account ? ['system:serviceaccounts', `system:serviceaccounts:${account[1]}`] : [];
  const all = groups.length > 0 ? groups : own;
  return {
    name: user,
    groups: [...new Set([...all, user === 'system:anonymous' ? 'system:unauthenticated' : authenticated])],
  };
}

/** Several headers of one name arrive joined by a comma. */
const groupsIn = (message: IncomingMessage): string[] => {
  const raw = message.rawHeaders;
  return raw.filter((_, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === 'impersonate-group');
};

function check(storage: Storage, caller: User, plural: string, name: string, namespace?: string): void {
  const { allowed } = authorize(storage, caller, {
    verb: 'impersonate',
    group: '',
    plural,
    subresource: '',
    namespace,
    name,
  });
  if (allowed) return;
  const where = namespace ? `in the namespace ${JSON.stringify(namespace)}` : 'at the cluster scope';
  throw forbidden(
    { group: '', plural, kind: '' },
    name,
    `User ${JSON.stringify(caller.name)} cannot impersonate resource ${JSON.stringify(plural)} in API group "" ${where}`,
  );
}
