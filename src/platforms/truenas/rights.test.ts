import { expect, it } from 'vitest';
import { isTest, read, sources } from '../../../test/contracts/tree.ts';
import { missingRoles, rights } from './rights.ts';

it('T62: every call of ours is in the list of rights, but those that want no role', () => {
  const free = [
    ...['auth.login_ex', 'auth.generate_token', 'system.version_short'],
    ...['core.subscribe', 'core.get_jobs', 'core.download'],
  ];
  const named = sources('src/platforms/truenas')
    .filter((path) => !isTest(path) && !path.endsWith('/rights.ts'))
    .flatMap((path) => [...read(path).matchAll(/'((?:auth|core|filesystem|interface|pool|system|vm|zfs)\.[a-z_.]+)'/g)])
    .map(([, call]) => call ?? '');
  expect(new Set(named)).toEqual(new Set([...Object.keys(rights), ...free]));
});

it('FULL_ADMIN brings all, and nothing else brings it', () => {
  expect(missingRoles(['FULL_ADMIN'])).toEqual([]);
  expect(missingRoles(Object.values(rights).filter((role) => role !== 'FULL_ADMIN'))).toEqual([
    { role: 'FULL_ADMIN', calls: ['filesystem.put', 'filesystem.get'] },
  ]);
});
