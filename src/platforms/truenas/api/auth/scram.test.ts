import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { errorCodeOf, type ScriptedReply, useScriptedNas } from '../../../../../test/support/harness/scripted-nas.ts';
import {
  createScramChallenge,
  parseClientFirst,
  type ScramChallenge,
  verifyScramProof,
} from '../../../../../test/world/truenas/auth/scram.ts';
import type { ApiKey } from '../../../../../test/world/truenas/nas-state.ts';
import {
  issueServingCertificate,
  type ServingCertificate,
} from '../../../../../test/world/truenas/protocol/serving-certificate.ts';
import { SecretString } from '../../../../lib/secret-string.ts';
import { TrueNasClient } from '../client.ts';
import { answerScram, beginScram } from './scram.ts';

const at = useScriptedNas();
let certificate: ServingCertificate;
beforeAll(async () => {
  certificate = await issueServingCertificate('127.0.0.1', 'test');
});
beforeEach(async () => {
  await at.nas.close();
  await at.present(certificate);
  at.nas = at.open(certificate.ca);
});
const secret = 'k'.repeat(64);
const key: ApiKey = { id: 1, user: 'root', key: `1-${secret}`, expiresAt: null, revokedReason: null };

const scram = (type: string, text: string, more: object = {}) => ({
  result: { response_type: 'SCRAM_RESPONSE', scram_type: type, rfc_str: text, user_info: null, ...more },
});
const answer = (response_type: string) => ({ result: { response_type } });
interface Words {
  /** Replaces the honest answer to the first message, and to the last. */
  readonly first?: (text: string) => ScriptedReply;
  readonly last?: (text: string) => ScriptedReply;
  /** The hash of another certificate than the shown one. */
  readonly endPoint?: Buffer;
}

/** A system that knows the key, except for the given false answers, and a client that logs in by SCRAM. */
function open(
  { first, last, endPoint = certificate.hash }: Words = {},
  apiKey = key.key,
  username = 'root',
): TrueNasClient {
  let started: ScramChallenge;
  at.server.login = () => undefined;
  at.server.script = async (method, [request]) => {
    if (method !== 'auth.login_ex') return { result: null };
    const { mechanism, scram_type: type, rfc_str: text = '' } = request as Record<string, string>;
    if (mechanism !== 'SCRAM') return answer('SUCCESS');
    if (type === 'CLIENT_FIRST_MESSAGE') {
      started = await createScramChallenge(key, parseClientFirst(text)!);
      return first?.(started.serverFirst) ?? scram('SERVER_FIRST_RESPONSE', started.serverFirst);
    }
    const proof = verifyScramProof(started, text, endPoint);
    if (last) return last(proof ?? '');
    const user_info = { privilege: { roles: { $set: ['FULL_ADMIN'] } } };
    return proof === undefined ? answer('AUTH_ERR') : scram('SERVER_FINAL_RESPONSE', proof, { user_info });
  };
  at.nas = new TrueNasClient({
    ...at.nas.options,
    login: 'Scram',
    username: new SecretString(username),
    apiKey: new SecretString(apiKey),
  });
  return at.nas;
}

const sent = () => JSON.stringify(at.server.calls);

describe('a login by SCRAM', () => {
  it('T2: succeeds, reports the roles, and never sends the key', async () => {
    open();
    await at.read();
    expect((await at.nas.session(AbortSignal.timeout(5000))).roles).toEqual(['FULL_ADMIN']);
    expect(at.server.named('auth.login_ex')).toHaveLength(2);
    expect(at.server.named('system.info')).toHaveLength(1);
    expect(sent()).not.toContain(secret.slice(0, 8));
  });

  it('T2: differs each time', async () => {
    open();
    await at.read();
    const { rpc } = await at.nas.session(AbortSignal.timeout(5000));
    rpc.terminate();
    await rpc.closed;
    await at.read();
    const messages = at.server.named('auth.login_ex').map(({ params }) => (params[0] as { rfc_str: string }).rfc_str);
    expect(new Set(messages).size).toBe(4);
  });

  const wrongProof = `v=${Buffer.alloc(64).toString('base64')}`;
  const otherNonce = (text: string) => text.replace(/^r=[^,]+/, `r=${Buffer.alloc(64).toString('base64')}`);
  it.each<[string, string, Words]>([
    ['proves the key wrongly', 'TRUENAS_SERVER_UNPROVEN', { last: () => scram('SERVER_FINAL_RESPONSE', wrongProof) }],
    ['proves nothing', 'TRUENAS_SERVER_UNPROVEN', { last: () => scram('SERVER_FINAL_RESPONSE', 'v=') }],
    ['says the first thing twice', 'TRUENAS_LOGIN_DENIED', { last: (text) => scram('SERVER_FIRST_RESPONSE', text) }],
    ['calls it a success without a proof', 'TRUENAS_LOGIN_DENIED', { last: () => answer('SUCCESS') }],
    ['calls it a success at once', 'TRUENAS_LOGIN_DENIED', { first: () => answer('SUCCESS') }],
    [
      'answers another login',
      'TRUENAS_SERVER_UNPROVEN',
      { first: (text) => scram('SERVER_FIRST_RESPONSE', otherNonce(text)) },
    ],
    [
      'makes the key easy to guess',
      'TRUENAS_SERVER_UNPROVEN',
      { first: (text) => scram('SERVER_FIRST_RESPONSE', text.replace(/i=\d+$/, 'i=49999')) },
    ],
    [
      'lets one reckon for ever',
      'TRUENAS_SERVER_UNPROVEN',
      { first: (text) => scram('SERVER_FIRST_RESPONSE', text.replace(/i=\d+$/, 'i=5000001')) },
    ],
    [
      'wants an extension',
      'TRUENAS_SERVER_UNPROVEN',
      { first: (text) => scram('SERVER_FIRST_RESPONSE', `${text},m=more`) },
    ],
  ])('T2: refuses a server that %s (%s), and makes no calls to it', async (_, code, words) => {
    open(words);
    expect(await errorCodeOf(at.read())).toBe(code);
    expect(at.server.named('system.info')).toHaveLength(0);
    expect(sent()).not.toContain(secret.slice(0, 8));
  });

  it.each([
    ['AUTH_ERR', 'TRUENAS_KEY_REFUSED'],
    ['EXPIRED', 'TRUENAS_KEY_EXPIRED'],
    ['OTP_REQUIRED', 'TRUENAS_OTP_REQUIRED'],
    ['REDIRECT', 'TRUENAS_LOGIN_DENIED'],
    ['DENIED', 'TRUENAS_LOGIN_DENIED'],
    ['SOMETHING_NEW', 'TRUENAS_LOGIN_DENIED'],
  ])('S40: reports %s, at either message, as a failed login (%s)', async (type, code) => {
    for (const words of [{ first: () => answer(type) }, { last: () => answer(type) }]) {
      open(words);
      expect(await errorCodeOf(at.read())).toBe(code);
      await at.nas.close();
    }
    expect(at.server.named('system.info')).toHaveLength(0);
  });

  it('T2: without support by the system is refused with advice, and the key is not sent instead', async () => {
    const extra = [['login_data', "Input tag 'SCRAM' does not match any of the expected tags", 22]];
    open({ first: () => ({ error: { code: -32602, message: 'Invalid params', data: { error: 22, extra } } }) });
    await expect(at.read()).rejects.toMatchObject({
      code: 'TRUENAS_SCRAM_UNSUPPORTED',
      message: expect.stringContaining('set truenas.login to Plain'),
    });
    expect(sent()).not.toContain(secret.slice(0, 8));
    expect(sent()).not.toContain('API_KEY_PLAIN');
  });

  it('T2: is refused to a proxy with another certificate, and the proof is invalid there', async () => {
    const theirs = await issueServingCertificate('127.0.0.1', 'in between');
    open({ endPoint: theirs.hash });
    expect(await errorCodeOf(at.read())).toBe('TRUENAS_KEY_REFUSED');
  });

  it('T2: with a wrong key is reported, and tried once a minute at most', async () => {
    open({}, `1-${'x'.repeat(64)}`);
    for (let i = 0; i < 20; i += 1) expect(await errorCodeOf(at.read())).toBe('TRUENAS_KEY_REFUSED');
    expect(at.server.connections).toBe(1);
  });

  it.each([
    ['a key without a number', secret, 'root'],
    ['a user with a comma', key.key, 'a,m=b'],
    ['a user with the number of a key', key.key, 'root:2'],
  ])('refuses %s without sending anything', async (_, apiKey, username) => {
    open({}, apiKey, username);
    expect(await errorCodeOf(at.read())).toBe('TRUENAS_KEY_REFUSED');
    expect(at.server.named('auth.login_ex')).toHaveLength(0);
  });
});

// Computed with Python's hashlib and hmac from the text of RFC 5802, with nonces joined as TrueNAS does.
it('T2: computes the same proofs as another implementation', async () => {
  const start = beginScram('root', '7', Buffer.alloc(32, 3), Buffer.alloc(32, 1));
  expect(start.message).toBe(`p=tls-server-end-point,,n=root:7,r=${Buffer.alloc(32, 1).toString('base64')}`);
  const joined = Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]).toString('base64');
  const salt = Buffer.from('0123456789abcdef').toString('base64');
  const proof = await answerScram(start, new SecretString('pencil'), `r=${joined},s=${salt},i=50000`);
  const bound = Buffer.concat([Buffer.from('p=tls-server-end-point,,'), Buffer.alloc(32, 3)]).toString('base64');
  expect(proof.message).toBe(
    `c=${bound},r=${joined},p=FxID1vwzQgg+A37qjYzy/te3UFAGKCa8sXIjwrsMsR9r/jYe3LnG21ElQVDB9PAifnCTW98HMrouAKaiTqGOEQ==`,
  );
  expect(
    proof.isGenuine('v=zNDsLL0g+29gUZ2UsrqAvU5lw3hLdL89ayme+8zBKttadKZ6mtlCdv2yPql5EljLbHbwYzbqJfRc6tHOg3JuNw=='),
  ).toBe(true);
});
