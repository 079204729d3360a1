import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import { SigningKeyCache, signingKeyIdOf } from './signing-key-cache.ts';

const never = new AbortController().signal;

describe('the signing keys of a cluster', () => {
  function reader(answers: (() => Promise<ReadonlySet<string> | undefined>)[]) {
    const clock = new ManualClock();
    const asked = { times: 0 };
    const client: Pick<KubeClient, 'signingKeys'> = {
      signingKeys: async () => await (answers[asked.times++] ?? (() => Promise.reject(new Error('asked too often'))))(),
    };
    return { clock, asked, keys: new SigningKeyCache(client as KubeClient, clock) };
  }

  it('are requested once a minute for all callers', async () => {
    const { clock, asked, keys } = reader([async () => new Set(['a']), async () => new Set(['b'])]);
    await Promise.all([keys.read(never), keys.read(never)]);
    expect(await keys.read(never)).toEqual(new Set(['a']));
    expect(asked.times).toBe(1);
    await clock.advance(61_000);
    expect(await keys.read(never)).toEqual(new Set(['b']));
  });

  it('are requested again after an error', async () => {
    const failing = reader([() => Promise.reject(new Error('away')), async () => new Set(['a'])]);
    await expect(failing.keys.read(never)).rejects.toThrow('away');
    expect(await failing.keys.read(never)).toEqual(new Set(['a']));
  });
});

describe('the signing key of a token', () => {
  const token = (header: unknown) =>
    new SecretString(`${Buffer.from(JSON.stringify(header)).toString('base64url')}.e30.x`);

  it('is in its header', () => expect(signingKeyIdOf(token({ alg: 'RS256', kid: 'abc' }))).toBe('abc'));

  it.each([token({ alg: 'RS256' }), token({ kid: 7 }), new SecretString('opaque'), new SecretString('')])(
    'is unknown for other tokens',
    (other) => expect(signingKeyIdOf(other)).toBeUndefined(),
  );
});
