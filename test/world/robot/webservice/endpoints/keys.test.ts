import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { statusAndCodeOf, useRobotFixtures } from '../../robot-fixture.ts';
import { parsePublicKey } from '../public-key.ts';

const { enter, closeAll } = useRobotFixtures();
afterEach(closeAll);

const field = (value: string | Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(value));
  return Buffer.concat([length, Buffer.from(value)]);
};
const ed25519 = Buffer.concat([field('ssh-ed25519'), field(Buffer.alloc(32, 7))]);
const rsa = Buffer.concat([
  field('ssh-rsa'),
  field(Buffer.from([1, 0, 1])),
  field(Buffer.concat([Buffer.from([0, 0x80]), Buffer.alloc(383)])),
]);
const nist = Buffer.concat([field('ecdsa-sha2-nistp384'), field('nistp384'), field(Buffer.alloc(97))]);
const lineOf = (blob: Buffer, algorithm: string): string => `${algorithm} ${blob.toString('base64')}`;
const line = lineOf(ed25519, 'ssh-ed25519');
const fingerprintOf = (blob: Buffer): string =>
  (createHash('md5').update(blob).digest('hex').match(/../g) ?? []).join(':');
const form = (name: string, data: string): string => new URLSearchParams({ name, data }).toString();

describe('keys', () => {
  it('are identified by the MD5 of their blob, and are shown without a comment', async () => {
    const { ask } = await enter();
    const answer = await ask('POST /key', { form: form('ocp', `${line} me@home`) });
    const key = {
      name: 'ocp',
      fingerprint: fingerprintOf(ed25519),
      type: 'ED25519',
      size: 256,
      data: line,
      created_at: '2031-01-01 00:00:00',
    };
    expect(answer).toMatchObject({ status: 201, body: { key } });
    expect((await ask(`GET /key/${fingerprintOf(ed25519)}`)).body).toEqual({ key });
    expect((await ask('GET /key')).body).toEqual([{ key }]);
  });

  it('are unique by their blob, not by their names', async () => {
    const { ask } = await enter({ accounts: [{ keys: [{ name: 'one', data: line }] }] });
    expect(statusAndCodeOf(await ask('POST /key', { form: form('two', `${line} other`) }))).toBe(
      '409 KEY_ALREADY_EXISTS',
    );
    expect((await ask('POST /key', { form: form('one', lineOf(rsa, 'ssh-rsa')) })).status).toBe(201);
  });

  it('can be deleted, with an empty answer', async () => {
    const { ask } = await enter({ accounts: [{ keys: [{ name: 'one', data: line }] }] });
    const path = `/key/${fingerprintOf(ed25519)}`;
    expect(await ask(`DELETE ${path}`)).toMatchObject({ status: 200, text: '' });
    expect(statusAndCodeOf(await ask(`DELETE ${path}`))).toBe('404 NOT_FOUND');
    expect(statusAndCodeOf(await ask('GET /key'))).toBe('404 NOT_FOUND');
  });

  it.each([
    ['name=one', { missing: ['data'] }],
    ['', { missing: ['name', 'data'] }],
    [form('one', 'ssh-ed25519 AAAA'), { invalid: ['data'] }],
    [form('one', 'hello'), { invalid: ['data'] }],
    [form('one', `ssh-rsa ${ed25519.toString('base64')}`), { invalid: ['data'] }],
  ])('%s is refused', async (body, error) => {
    const { ask } = await enter();
    expect((await ask('POST /key', { form: body })).body.error).toMatchObject({ code: 'INVALID_INPUT', ...error });
  });

  it.each([
    ['ED25519', 256, line],
    ['RSA', 3072, lineOf(rsa, 'ssh-rsa')],
    ['ECDSA', 384, lineOf(nist, 'ecdsa-sha2-nistp384')],
    [
      'ED25519',
      256,
      `---- BEGIN SSH2 PUBLIC KEY ----\nComment: "a: b\\\nc"\n${ed25519.toString('base64')}\n---- END SSH2 PUBLIC KEY ----`,
    ],
  ])('%s with %i bits is accepted', (type, size, text) => {
    expect(parsePublicKey(text)).toMatchObject({ type, size });
  });

  it('a seed with an invalid one is refused with a sentence', async () => {
    await expect(enter({ accounts: [{ keys: [{ name: 'one', data: 'x' }] }] })).rejects.toThrow(RangeError);
  });
});
