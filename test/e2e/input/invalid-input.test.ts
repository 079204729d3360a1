import { expect, it } from 'vitest';
import { type Condition, isConditionTrue } from '../../../src/api/conditions.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { eventually } from '../../support/eventually.ts';
import { expectNoErrorsLogged } from '../support/objects/submission-result.ts';
import type { RawProviderConfigSpec } from '../support/objects/test-objects.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const subnet = '127.42.101';
const open = startTestbed({ subnet });
const good = { namespace: 'shop', name: 'good' };
const early = { namespace: 'shop', name: 'early' };

interface Mistake {
  readonly name: string;
  /** Writes the mistake into a valid spec. */
  spoil(spec: RawProviderConfigSpec): void;
  /** The condition that is False because of it. */
  readonly type: string;
  /** Names the field and the correction. */
  readonly words: RegExp;
  /** A merge patch of the spec. Absent: the Secret needs the correction. */
  readonly mend?: object;
}

const mistakes: readonly Mistake[] = [
  {
    name: 'no-secret',
    spoil: ({ truenas }) => Object.assign(truenas, { credentialsRef: { name: 'no-secret' } }),
    type: 'CredentialsValid',
    words: /^truenas\.credentialsRef: there is no Secret no-secret in namespace openmcp-system\. Create it\./,
  },
  {
    name: 'half-a-secret',
    spoil: ({ truenas }) => Object.assign(truenas, { credentialsRef: { name: 'half-a-secret' } }),
    type: 'CredentialsValid',
    words: /^truenas\.credentialsRef: .*apiKey/,
  },
  {
    name: 'wrong-key',
    spoil: ({ truenas }) => Object.assign(truenas, { credentialsRef: { name: 'wrong-key' } }),
    type: 'CredentialsValid',
    words: /^truenas\.credentialsRef: .*API key.*/,
  },
  {
    name: 'empty-secret',
    spoil: ({ truenas }) => Object.assign(truenas, { credentialsRef: { name: 'empty-secret' } }),
    type: 'CredentialsValid',
    words: /^truenas\.credentialsRef: .*username.*apiKey/,
  },
  {
    name: 'odd-secret',
    spoil: ({ truenas }) => Object.assign(truenas, { credentialsRef: { name: 'odd-secret' } }),
    type: 'CredentialsValid',
    words: /^truenas\.credentialsRef: .*API key/,
  },
  {
    name: 'unreachable',
    spoil: ({ truenas }) => Object.assign(truenas, { url: 'wss://127.42.101.250:9' }),
    type: 'CredentialsValid',
    words: /Check truenas\.url, and that the system is up\. 127\.42\.101\.250:9/,
    mend: { truenas: { url: 'the real one' } },
  },
  {
    name: 'strange-authority',
    spoil: ({ truenas }) => delete truenas['caBundle'],
    type: 'CredentialsValid',
    words: /^truenas\.caBundle: /,
    mend: { truenas: { caBundle: 'the real one' } },
  },
  {
    name: 'unknown-pool',
    spoil: ({ truenas }) => Object.assign(truenas, { pool: 'lake' }),
    type: 'CredentialsValid',
    words: /^truenas\.pool: \S+ has no pool lake\. Existing pools: .*tank/,
    mend: { truenas: { pool: 'tank' } },
  },
  {
    name: 'unknown-bridge',
    spoil: ({ truenas }) => Object.assign(truenas, { bridge: 'br9' }),
    type: 'CredentialsValid',
    words: /^truenas\.bridge: \S+ has no network interface br9 .*\. Existing interfaces: .*br0/,
    mend: { truenas: { bridge: 'br0' } },
  },
  {
    name: 'small-range',
    spoil: ({ network }) => Object.assign(network, { addressPool: [`${subnet}.200`] }),
    type: 'ConfigValid',
    words: /^network\.addressPool: It has 1 address, and one cluster needs 2 .* Add addresses\./,
    mend: { network: { addressPool: [`${subnet}.200`, `${subnet}.202`] } },
  },
  {
    name: 'range-outside',
    spoil: ({ network }) => Object.assign(network, { addressPool: [`${subnet}.10-${subnet}.20`, '127.43.0.10'] }),
    type: 'ConfigValid',
    words:
      /^network\.addressPool\[1\]: 127\.43\.0\.10 is outside the usable addresses of the subnet of network\.gateway and network\.prefix/,
    mend: { network: { addressPool: [`${subnet}.10-${subnet}.20`] } },
  },
  {
    name: 'old-talos',
    spoil: ({ talos }) => Object.assign(talos, { version: '1.11.5' }),
    type: 'ConfigValid',
    words: /^talos\.version: .*1\.11\.5.*1\.12/,
    mend: { talos: { version: '1.13.9' } },
  },
  {
    name: 'future-talos',
    spoil: ({ talos }) => Object.assign(talos, { version: '1.15.0' }),
    type: 'ConfigValid',
    words: /^talos\.version: .*1\.15\.0.*1\.14/,
    mend: { talos: { version: '1.13.9' } },
  },
  {
    name: 'unfit-kubernetes',
    spoil: ({ kubernetes }) => Object.assign(kubernetes, { versions: [{ version: '1.35.4' }, { version: '1.25.0' }] }),
    type: 'ConfigValid',
    words: /^kubernetes\.versions.*1\.25\.0/,
    mend: { kubernetes: { versions: [{ version: '1.35.4' }] } },
  },
  {
    name: 'unknown-size',
    spoil: ({ controlPlane }) => Object.assign(controlPlane, { size: 'huge' }),
    type: 'ConfigValid',
    words: /^controlPlane\.size: The size huge does not exist\. Use a size of the platform section: small\./,
    mend: { controlPlane: { size: 'small' } },
  },
];

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.credentials('half-a-secret', { username: objects.goodCredentials().username });
  await objects.credentials('wrong-key', { ...objects.goodCredentials(), apiKey: `1-${'wrong'.repeat(12)}abcd` });
  await objects.credentials('empty-secret', { username: '', apiKey: ' \n' });
  await objects.credentials('odd-secret', {
    username: 'rö\u0000ot',
    apiKey: `1-\u{1F511}${'\u0001\uFFFD'.repeat(20)}`,
  });
  for (const { name, spoil } of mistakes) await objects.config(name, { change: spoil });
  await objects.cluster(early, { config: 'unknown-pool' });
  await objects.config('home');
  await objects.cluster(good);
});

const conditionsOf = async (name: string): Promise<readonly Condition[]> =>
  (await open().objects.getConfig(name)).status?.conditions ?? [];

async function saysWhy({ name, type, words }: Mistake): Promise<void> {
  const { status, metadata } = await open().objects.getConfig(name);
  const [messages, ready] = [type, 'Ready'].map((wanted) => status?.conditions?.find((one) => one.type === wanted));
  expect(messages).toMatchObject({ status: 'False', message: expect.stringMatching(words) });
  expect(ready).toMatchObject({ status: 'False', message: messages?.message, observedGeneration: metadata.generation });
  expect(status?.phase).toBe('Progressing');
}

it('reconciles the Cluster of a valid ProviderConfig among a dozen invalid ones', async () => {
  const { objects } = open();
  await eventually('the Cluster is ready', async () => (await objects.getCluster(good)).status?.phase === 'Ready', 90);
  for (const { name } of mistakes) expect(isConditionTrue(await conditionsOf(name), 'Ready')).toBe(false);
});

it.each(mistakes)('C13: names the invalid field of a ProviderConfig and the correction: $name', async (mistake) => {
  await eventually('it says so', async () => {
    await saysWhy(mistake);
    return true;
  });
});

it('C18: does not touch a Cluster whose ClusterProfile does not exist, since its ProviderConfig is not valid', async () => {
  const { metadata, status } = await open().objects.getCluster(early);
  expect([metadata.finalizers, metadata.labels, status]).toEqual([undefined, undefined, undefined]);
  expect(await open().objects.machines(early)).toEqual([]);
});

it.each(mistakes)('needs nothing but the correction: $name', async ({ name, mend: repair }) => {
  const testbed = open();
  const { objects, platform } = testbed;
  if (repair) await platform.merge(ProviderConfig, { name }, { spec: real(testbed, repair) });
  else await objects.credentials(name);
  await eventually(`${name} is ready`, async () => isConditionTrue(await conditionsOf(name), 'Ready'));
  expect((await objects.getConfig(name)).status?.phase).toBe('Ready');
});

/** Replaces placeholders in a correction by the testbed's own values. */
function real({ objects }: Testbed, repair: object): object {
  const { truenas } = objects.configSpec();
  const fill = (value: unknown, key: string): unknown => (value === 'the real one' ? truenas[key] : value);
  return JSON.parse(JSON.stringify(repair, (key, value) => fill(value, key)));
}

it('C16: continues without help with a Cluster created while its ProviderConfig was invalid', async () => {
  const { objects } = open();
  await eventually('the Cluster is ready', async () => (await objects.getCluster(early)).status?.phase === 'Ready', 90);
});

it.each<[string, RegExp, (spec: RawProviderConfigSpec) => void]>([
  [
    'an even number of control planes',
    /controlPlane\.replicas must be 1, 3 or 5/,
    (s) => set(s.controlPlane, { replicas: 2 }),
  ],
  ['no platform section', /exactly one platform section/, (s) => delete (s as Partial<RawProviderConfigSpec>).truenas],
  [
    'a worker pool with the name of the control planes',
    /cannot have the name cp/,
    (s) => set(s, { workerPools: [{ name: 'cp', replicas: 1, size: 'small' }] }),
  ],
  ['TrueNAS without TLS', /truenas\.url: use wss/, (s) => set(s.truenas, { url: 'ws://nas.example.org' })],
  ['an invalid version', /spec\.talos\.version/, (s) => set(s.talos, { version: 'newest' })],
])('is rejected by the API server at once: %s', async (_, words, change) => {
  const refused = await open()
    .objects.config('never', { change })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(KubeError);
  expect((refused as KubeError).message).toMatch(words);
});

const set = (section: object, values: object): void => {
  Object.assign(section, values);
};

it('lists the offered versions for a Cluster with another one, and accepts the correction', async () => {
  const { objects, platform } = open();
  const picky = { namespace: 'shop', name: 'picky' };
  await objects.cluster(picky, { kubernetes: { version: '1.29.0' } });
  await eventually('it says so', async () => {
    const { status } = await objects.getCluster(picky);
    expect(status?.conditions?.find(({ type }) => type === 'Accepted')).toMatchObject({
      status: 'False',
      reason: 'VersionNotOffered',
      message: 'spec.kubernetes.version: 1.29.0 is not offered. Use one of 1.35.4, 1.34.7, or omit it.',
    });
    return true;
  });
  expect(await objects.machines(picky)).toEqual([]);
  await platform.merge(Cluster, picky, { spec: { kubernetes: { version: '1.34.7' } } });
  await eventually('machines are made', async () => (await objects.machines(picky)).length === 1);
  await objects.remove(Cluster, picky);
});

it('the provider logs no fault of its own', () => {
  expectNoErrorsLogged(open());
});

it('never shows a wrong key in a message about it', () => {
  expect(findSecretLeaks(open())).toEqual([]);
});
