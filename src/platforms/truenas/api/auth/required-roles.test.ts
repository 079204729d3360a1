import { expect, it } from 'vitest';
import { isTestFile, readProjectFile, sourceFiles } from '../../../../../test/contracts/source-tree.ts';
import { missingRoles, requiredRoles } from './required-roles.ts';

it('T62: every call of ours has a role in the list, except calls that require none', () => {
  const free = [
    ...['auth.login_ex', 'auth.generate_token', 'system.version_short'],
    ...['core.subscribe', 'core.get_jobs', 'core.download'],
  ];
  const named = sourceFiles('src/platforms/truenas')
    .filter((path) => !isTestFile(path) && !path.endsWith('/rights.ts'))
    .flatMap((path) => [
      ...readProjectFile(path).matchAll(/'((?:auth|core|filesystem|interface|pool|system|vm|zfs)\.[a-z_.]+)'/g),
    ])
    .map(([, call]) => call ?? '');
  expect(new Set(named)).toEqual(new Set([...Object.keys(requiredRoles), ...free]));
});

it('FULL_ADMIN includes all roles, and no other role includes it', () => {
  expect(missingRoles(['FULL_ADMIN'])).toEqual([]);
  expect(missingRoles(Object.values(requiredRoles).filter((role) => role !== 'FULL_ADMIN'))).toEqual([
    { role: 'FULL_ADMIN', calls: ['filesystem.put', 'filesystem.get'] },
  ]);
});
