import type { Key } from '../state.ts';
import { stampOf } from '../time.ts';
import { type Ask, created, type Endpoint, empty, filled, ok } from './endpoint.ts';
import { conflict, invalidInput, notFound } from './errors.ts';
import { text } from './form.ts';
import { parsePublicKey } from './public-key.ts';

/** As it stands inside a boot configuration: without the key itself. */
export const describeKeyBriefly = ({ name, fingerprint, type, size, createdAt }: Key) => ({
  name,
  fingerprint,
  type,
  size,
  created_at: createdAt,
});

const describe = ({ createdAt, ...key }: Key) => {
  const { name, fingerprint, type, size, data } = key;
  return { key: { name, fingerprint, type, size, data, created_at: createdAt } };
};

function keyIn({ account, params }: Ask): Key {
  const key = account.keys.get((params['fingerprint'] ?? '').toLowerCase());
  if (!key) throw notFound();
  return key;
}

/** A key of an account. Throws a RobotError when it is not one. */
export function makeKey(name: string, data: string, at: Date): Key {
  const parsed = parsePublicKey(data);
  if (!parsed) throw invalidInput({ invalid: ['data'] });
  return { name, ...parsed, createdAt: stampOf(at) };
}

function nameIn(ask: Ask, ...others: string[]): string {
  const name = text(ask.form, 'name');
  const missing = ['name', ...others].filter((one) => (text(ask.form, one) ?? '') === '');
  if (missing.length > 0 || name === undefined) throw invalidInput({ missing });
  return name;
}

export const keyEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/key',
    group: 'key',
    handle: ({ account }) => ok(filled([...account.keys.values()].map(describe))),
  },
  {
    method: 'POST',
    path: '/key',
    group: 'key',
    handle: (ask) => {
      const { robot, account, form } = ask;
      const key = makeKey(nameIn(ask, 'data'), text(form, 'data') ?? '', robot.clock.now());
      if (account.keys.has(key.fingerprint)) throw conflict('KEY_ALREADY_EXISTS', 'key already exists');
      account.keys.set(key.fingerprint, key);
      return created(describe(key));
    },
  },
  { method: 'GET', path: '/key/{fingerprint}', group: 'key', handle: (ask) => ok(describe(keyIn(ask))) },
  {
    method: 'POST',
    path: '/key/{fingerprint}',
    group: 'key',
    handle: (ask) => {
      const key = keyIn(ask);
      key.name = nameIn(ask);
      return ok(describe(key));
    },
  },
  {
    method: 'DELETE',
    path: '/key/{fingerprint}',
    group: 'key',
    handle: (ask) => {
      ask.account.keys.delete(keyIn(ask).fingerprint);
      return empty;
    },
  },
];
