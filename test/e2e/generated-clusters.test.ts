import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { isTrue } from '../../src/api/conditions.ts';
import { Cluster } from '../../src/api/openmcp.ts';
import { anyCluster, brokenCluster, type Offer, type RawCluster } from '../support/arbitrary/cluster.ts';
import { trials } from '../support/arbitrary/property.ts';
import { brokenBySchema, specSchema } from '../support/arbitrary/schema-breaks.ts';
import { openmcpCrds } from '../world/operator/crds.ts';
import { eventually } from './support/eventually.ts';
import { prepare, startStage } from './support/hooks.ts';
import { leaks } from './support/secrets.ts';
import { outsideWrites, providerCalls, providerWrites, traces } from './support/traces.ts';
import {
  discard,
  expectQuiet,
  expectSentence,
  judge,
  type Reader,
  refusal,
  type Verdict,
  verdictOn,
} from './support/verdicts.ts';

const open = startStage({ subnet: '127.42.131', speed: 50 });
const namespace = 'shop';
const offer: Offer = { profile: 'test.talos.home', versions: ['1.35.4', '1.34.7'] };
const schema = specSchema(openmcpCrds, 'Cluster');

prepare(open, async ({ things }) => {
  await things.credentials();
  await things.config('home');
  await things.ensureNamespace(namespace);
  await eventually('it is offered', async () => (await things.getConfig('home')).status?.phase === 'Ready');
});

const counts = new Map<string, number>();
afterAll(() => {
  process.stdout.write(` Clusters: ${[...counts].map(([what, n]) => `${n} ${what}`).join(', ')}\n`);
});

const create = ({ metadata, spec }: RawCluster): Promise<Cluster> =>
  open().platform.create(Cluster, {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'Cluster',
    metadata: { ...metadata, namespace },
    spec: spec as never,
  });

async function submit(value: RawCluster, until: Reader<Cluster> = accepted): Promise<Verdict> {
  const verdict = await judge(open(), Cluster, () => create(value), until);
  const what = verdict.kind === 'served' ? 'served' : `refused by the ${verdict.by}`;
  counts.set(what, (counts.get(what) ?? 0) + 1);
  return verdict;
}

/** Its machines are being made: what comes then does not depend on it any more. */
const accepted: Reader<Cluster> = (cluster) => {
  const { conditions } = cluster.status ?? {};
  if (isTrue(conditions, 'Accepted') && isTrue(conditions, 'SecretsReady')) return { kind: 'served' };
  return refusal(cluster, 'Accepted');
};
const ready: Reader<Cluster> = ({ status }) => (status?.phase === 'Ready' ? { kind: 'served' } : undefined);

describe('a generated Cluster', () => {
  it('that is right is served, whatever it is called and carries', async () => {
    await fc.assert(
      fc.asyncProperty(anyCluster(offer), async (value) => {
        expect(await submit(value)).toEqual({ kind: 'served' });
      }),
      trials('right Clusters', 8),
    );
  });

  it('that does not fit the schema is refused by the API server, which names the field', async () => {
    const specs = anyCluster(offer).map(({ spec }) => spec);
    await fc.assert(
      fc.asyncProperty(brokenBySchema(specs, schema), async ({ value, field }) => {
        const verdict = await submit({ metadata: { name: 'never' }, spec: value });
        expect(verdict).toMatchObject({ by: 'api' });
        expectSentence(verdict, field);
      }),
      trials('Clusters that do not fit the schema', 40),
    );
  });

  it('that fits the schema and cannot be served is refused by a condition, which names the field', async () => {
    await fc.assert(
      fc.asyncProperty(brokenCluster(offer), async ({ value, field }) => {
        const verdict = await submit(value);
        expect(verdict).toMatchObject({ by: 'provider' });
        expectSentence(verdict, field);
      }),
      trials('Clusters that fit the schema', 50),
    );
  });

  it('of somebody else’s profile is not touched', async () => {
    const { calls } = open();
    const first = calls.length;
    const foreign = fc.sample(anyCluster({ ...offer, profile: 'test.other.home' }), { numRuns: 10, seed: 1 });
    const made = await Promise.all(
      foreign.map(({ metadata, spec }, i) => create({ metadata: { ...metadata, name: `foreign-${i}` }, spec })),
    );
    await submit({ metadata: { name: 'ours' }, spec: { profile: offer.profile, tenancy: 'Shared' } });
    expect(providerWrites(calls.slice(first)).filter((name) => name.includes('foreign-'))).toEqual([]);
    await Promise.all(made.map((one) => discard(open(), Cluster, one)));
  });

  it('that cannot be served costs its own few calls and stands in nobody’s way', async () => {
    await workFor('warm');
    const alone = await workFor('alone');
    const { calls } = open();
    const first = calls.length;
    const bad = fc.sample(brokenCluster(offer), { numRuns: 40 });
    const made = await Promise.all(
      bad.map(({ value: { spec } }, i) => create({ metadata: { name: `bad-${i}` }, spec })),
    );
    try {
      expect(await workFor('among')).toEqual(alone);
      // The finalizer, the label, the verdict.
      const spent = providerCalls(calls.slice(first)).filter(({ name }) => name.includes('/bad-'));
      expect(spent.length).toBe(3 * bad.length);
    } finally {
      await Promise.all(made.map((one) => discard(open(), Cluster, one)));
    }
  });
});

/** What is written for a good Cluster until it is ready, but for how it stands: at the platform and at the TrueNAS system. */
async function workFor(name: string): Promise<string[]> {
  const { calls } = open();
  const first = calls.length;
  const made = await create({ metadata: { name }, spec: { profile: offer.profile, tenancy: 'Exclusive' } });
  expect(await verdictOn(open(), Cluster, made, ready)).toEqual({ kind: 'served' });
  const during = calls.slice(first);
  await discard(open(), Cluster, made);
  const nas = during.filter(({ room }) => room === 'truenas');
  const written = [...providerWrites(during), ...outsideWrites(nas)];
  const own = written.filter(
    (call) => !call.endsWith('/status') && !call.includes('/bad-') && !/leases|events/.test(call),
  );
  return own.map((call) => call.replaceAll(new RegExp(`${name}(-[a-z2-7]{8})?`, 'g'), '…')).sort();
}

describe('after all that', () => {
  it('nothing is left of them', async () => {
    expect(await traces(open())).toEqual(['ProviderConfig home', 'ClusterProfile test.talos.home']);
  });

  it('nothing was a fault, nothing shows the insides of the program, and no secret came out', () => {
    expectQuiet(open());
    expect(leaks(open())).toEqual([]);
  });
});
