import type { StoredSshKey } from '../../state.ts';
import { formatTimestamp } from '../../world-time.ts';
import {
  createdReply,
  emptyReply,
  endpoint,
  notFoundIfEmpty,
  okReply,
  type RobotEndpoint,
  type WebserviceRequest,
} from '../endpoint.ts';
import { conflictRobotError, invalidInputError, notFoundRobotError } from '../errors.ts';
import { formText } from '../php-form.ts';
import { parsePublicKey } from '../public-key.ts';

/** A key in a boot configuration: without the public key itself. */
export const describeKeyBriefly = ({ name, fingerprint, type, size, createdAt }: StoredSshKey) => ({
  name,
  fingerprint,
  type,
  size,
  created_at: createdAt,
});

const describe = ({ createdAt, ...key }: StoredSshKey) => {
  const { name, fingerprint, type, size, data } = key;
  return { key: { name, fingerprint, type, size, data, created_at: createdAt } };
};

function keyOfRequest({ account, params }: WebserviceRequest): StoredSshKey {
  const key = account.keys.get((params['fingerprint'] ?? '').toLowerCase());
  if (!key) throw notFoundRobotError();
  return key;
}

/** A key of an account. Throws a RobotError for an invalid key. */
export function createStoredSshKey(name: string, data: string, at: Date): StoredSshKey {
  const parsed = parsePublicKey(data);
  if (!parsed) throw invalidInputError({ invalid: ['data'] });
  return { name, ...parsed, createdAt: formatTimestamp(at) };
}

function nameOfForm(ask: WebserviceRequest, ...others: string[]): string {
  const name = formText(ask.form, 'name');
  const missing = ['name', ...others].filter((one) => (formText(ask.form, one) ?? '') === '');
  if (missing.length > 0 || name === undefined) throw invalidInputError({ missing });
  return name;
}

export const keyEndpoints: readonly RobotEndpoint[] = [
  endpoint('GET /key', ({ account }) => okReply(notFoundIfEmpty([...account.keys.values()].map(describe)))),
  endpoint('POST /key', (ask) => {
    const { robot, account, form } = ask;
    const key = createStoredSshKey(nameOfForm(ask, 'data'), formText(form, 'data') ?? '', robot.clock.now());
    if (account.keys.has(key.fingerprint)) throw conflictRobotError('KEY_ALREADY_EXISTS', 'key already exists');
    account.keys.set(key.fingerprint, key);
    return createdReply(describe(key));
  }),
  endpoint('GET /key/{fingerprint}', (ask) => okReply(describe(keyOfRequest(ask)))),
  endpoint('DELETE /key/{fingerprint}', (ask) => {
    ask.account.keys.delete(keyOfRequest(ask).fingerprint);
    return emptyReply;
  }),
];
