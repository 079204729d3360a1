import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTrue } from '../../src/api/conditions.ts';
import { Cluster } from '../../src/api/openmcp.ts';
import { anyCluster, brokenCluster, type Offer, type RawCluster } from '../support/arbitrary/cluster.ts';
import { trials } from '../support/arbitrary/property.ts';
import { specSchema } from '../support/arbitrary/schema-breaks.ts';
import { openmcpCrds } from '../world/operator/crds.ts';
import type { Call } from '../world/switchboard.ts';
import { eventually } from './support/eventually.ts';
import { Generated } from './support/generated.ts';
import { prepare, startStage } from './support/hooks.ts';
import { leaks } from './support/secrets.ts';
import { outsideWrites, providerCalls, providerWrites, traces } from './support/traces.ts';
import { discard, expectQuiet, type Reader, refusal } from './support/verdicts.ts';

const open = startStage({ subnet: '127.42.131', speed: 20 });
const namespace = 'shop';
const offer: Offer = { profile: 'test.talos.home', versions: ['1.35.4', '1.34.7'] };

prepare(open, async ({ things }) => {
  await things.credentials();
  await things.config('home');
  await things.ensureNamespace(namespace);
  await eventually('it is offered', async () => (await things.getConfig('home')).status?.phase === 'Ready');
});

const create = ({ metadata, spec }: RawCluster, name: string): Promise<Cluster> =>
  open().platform.create(Cluster, {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'Cluster',
    metadata: { name, ...metadata, namespace },
    spec: spec as never,
  });

/** Its machines are being made: what comes then does not depend on it any more. */
const accepted: Reader<Cluster> = (cluster) => {
  const { conditions } = cluster.status ?? {};
  if (isTrue(conditions, 'Accepted') && isTrue(conditions, 'SecretsReady')) return { kind: 'served' };
  return refusal(cluster, 'Accepted');
};
const clusters = new Generated<Cluster, RawCluster>(open, { type: Cluster, create, read: accepted });
/** The same, until they are ready. */
const complete = new Generated<Cluster, RawCluster>(open, {
  type: Cluster,
  create,
  read: ({ status }) => (status?.phase === 'Ready' ? { kind: 'served' } : undefined),
});

const plain: RawCluster = { metadata: {}, spec: { profile: offer.profile, tenancy: 'Exclusive' } };
const nameless = ({ spec }: RawCluster): RawCluster => ({ metadata: {}, spec });

describe('a generated Cluster', () => {
  it('that is right is served, whatever it is called and carries', async () => {
    await fc.assert(
      fc.asyncProperty(anyCluster(offer), (value) => clusters.serve(value)),
      trials('right Clusters', 6),
    );
  });

  const specs = () => anyCluster(offer).map(({ spec }) => spec);
  clusters.itRefusesBySchema(specSchema(openmcpCrds, 'Cluster'), specs, (spec) => ({ metadata: {}, spec }), 30);
  clusters.itRefusesByCondition(() => brokenCluster(offer), 40);

  it('of somebody else’s profile is not touched', async () => {
    const { calls } = open();
    const first = calls.length;
    const foreign = fc.sample(anyCluster({ ...offer, profile: 'test.other.home' }), { numRuns: 10 });
    const made = await Promise.all(foreign.map((value, i) => create(nameless(value), `foreign-${i}`)));
    await clusters.serve(plain);
    expect(providerWrites(calls.slice(first)).filter((name) => name.includes('foreign-'))).toEqual([]);
    await Promise.all(made.map((one) => discard(open(), Cluster, one)));
  });

  it('that cannot be served costs its own few calls and stands in nobody’s way', async () => {
    // The boot image is there after the first one.
    await complete.serve(plain);
    const { calls } = open();
    const first = calls.length;
    const bad = fc.sample(brokenCluster(offer), { numRuns: 40 }).map(({ value }) => nameless(value));
    await complete.expectUndisturbed(plain, bad, workFor);
    const spent = providerCalls(calls.slice(first)).filter(({ name }) => name.includes('/bad-'));
    // The finalizer, the label, the verdict; in the end that it goes, its secrets, and the finalizer. Some are walked twice.
    expect(spent.length).toBeLessThanOrEqual(7 * bad.length);
  });
});

/** What is written for a Cluster, but for how it stands: at the platform and at the TrueNAS system. */
function workFor(calls: readonly Call[], name: string): string[] {
  const nas = calls.filter(({ room }) => room === 'truenas');
  const written = [...providerWrites(calls), ...outsideWrites(nas)];
  const own = written.filter((call) => !/\/status$|\/bad-|leases|events/.test(call));
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
