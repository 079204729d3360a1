import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { exampleConfigInput, exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { classifyChange } from '../config/compare/change-class.ts';
import { listConfigChanges } from '../config/compare/config-changes.ts';
import { renderMachineConfig } from '../config/machine-config.ts';
import {
  type AuthorityRotation,
  advanceRotation,
  formatRotation,
  parseRotation,
  type RotationState,
  verificationBundle,
  withRotation,
} from './authority-rotation.ts';
import { splitCertificates, toBase64 } from './pem.ts';
import { createAuthority, type RotatableAuthority, type SecretsBundle, trustedCertificates } from './secrets-bundle.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

async function begin(authority: RotatableAuthority): Promise<AuthorityRotation> {
  const now = new Date();
  return { authority, phase: 'accept', other: await createAuthority(authority, now), startedAt: now.toISOString() };
}

/** The states of a rotation from its beginning to its end. */
function walk(first: AuthorityRotation): RotationState[] {
  const states: RotationState[] = [{ bundle, rotation: first }];
  for (let state = states[0]; state?.rotation; states.push(state))
    state = advanceRotation(withRotation(state.bundle, state.rotation), state.rotation);
  return states;
}

describe.each(['os', 'kubernetes'] as const)('the rotation of %s', (authority) => {
  it('goes from one authority to the other, and each is accepted before and while it issues', async () => {
    const first = await begin(authority);
    const [former, next] = [bundle.authorities[authority].certificate, first.other.certificate];
    const seen = walk(first).map(({ bundle: stored, rotation }) => {
      const used = withRotation(stored, rotation);
      return [rotation?.phase, used.authorities[authority].certificate, trustedCertificates(used, authority)];
    });
    expect(seen).toEqual([
      ['accept', former, former + next],
      ['issue', next, next + former],
      ['remove', next, next],
      [undefined, next, next],
    ]);
  });

  it('reaches nodes by fields that need no restart, and the last phase is the end', async () => {
    const states = walk(await begin(authority));
    const configs = states.map((state) =>
      renderMachineConfig(exampleConfigInput(withRotation(state.bundle, state.rotation))),
    );
    const section = authority === 'os' ? 'machine' : 'cluster';
    const fields = configs.map((config, i) =>
      listConfigChanges(configs[i - 1] ?? renderMachineConfig(exampleConfigInput(bundle)), config).map(
        ({ field }) => field,
      ),
    );
    const [accepted, crt, key] = ['acceptedCAs', 'ca.crt', 'ca.key'].map((name) => `${section}.${name}`);
    expect(fields).toEqual([[accepted], [accepted, crt, key], [accepted], []]);
    expect(fields.flat().map(classifyChange)).toEqual(fields.flat().map(() => 'live'));
  });

  it('gives workers certificates only', async () => {
    for (const state of walk(await begin(authority))) {
      const used = withRotation(state.bundle, state.rotation);
      const config = parse(
        renderMachineConfig(exampleConfigInput(used, { role: 'worker' }))
          .reveal()
          .split('---\n')[0] ?? '',
      );
      const { ca, acceptedCAs } = authority === 'os' ? config.machine : config.cluster;
      expect(ca).toEqual({ crt: toBase64(used.authorities[authority].certificate) });
      const others = used.accepted?.[authority]?.map((crt) => ({ crt: toBase64(crt) }));
      expect(acceptedCAs).toEqual(others);
    }
  });

  it('is proven with a certificate of the new authority, and without trust in the former one once that issues', async () => {
    const first = await begin(authority);
    const next = first.other.certificate;
    const proofs = walk(first).flatMap(({ bundle: stored, rotation }) =>
      rotation ? [verificationBundle(withRotation(stored, rotation), rotation)] : [],
    );
    expect(proofs.map(({ authorities }) => authorities[authority].certificate)).toEqual([next, next, next]);
    expect(proofs.map((used) => splitCertificates(trustedCertificates(used, authority)).length)).toEqual([2, 1, 1]);
  });
});

describe('the stored rotation', () => {
  it('is read as it was written, and prints no key', async () => {
    const rotation = await begin('os');
    const read = parseRotation(formatRotation(rotation));
    expect(read).toEqual(rotation);
    expect(read.other.key.reveal()).toBe(rotation.other.key.reveal());
    expect(JSON.stringify(read)).not.toContain('PRIVATE KEY');
  });

  it.each([
    ['not YAML', 'a: ['],
    ['empty', ''],
    ['of an unknown phase', 'authority: os\nphase: later\nstartedAt: 2026-11-21T09:00:00Z\ncrt: YQ==\nkey: YQ=='],
    ['without a certificate', 'authority: os\nphase: issue\nstartedAt: 2026-11-21T09:00:00Z\ncrt: YQ==\nkey: YQ=='],
  ])('is refused when it is %s', (_, text) => {
    expect(() => parseRotation(new SecretString(text))).toThrowError(
      expect.objectContaining({ code: 'TALOS_SECRETS_INVALID' }),
    );
  });
});
