import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { anyCluster, invalidCluster, type OfferedVersions, type RawCluster } from '../../support/arbitrary/cluster.ts';
import { propertyParameters, propertySeed } from '../../support/arbitrary/property-parameters.ts';
import { specSchema } from '../../support/arbitrary/schema-violations.ts';
import { eventually } from '../../support/eventually.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { openmcpCrds } from '../../world/operator/crds.ts';
import { GeneratedObjects } from '../support/objects/generated-objects.ts';
import {
  deleteAndAwait,
  expectNoErrorsLogged,
  readRejection,
  type SubmissionReader,
} from '../support/objects/submission-result.ts';
import {
  infrastructureWrites,
  listLeftovers,
  providerCalls,
  providerWrites,
} from '../support/observation/provider-calls.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.131', speed: 20 });
const namespace = 'shop';
const offer: OfferedVersions = { profile: 'test.talos.home', versions: ['1.35.4', '1.34.7'] };

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home');
  await objects.ensureNamespace(namespace);
  await eventually('it is offered', async () => (await objects.getConfig('home')).status?.phase === 'Ready');
});

const create = ({ metadata, spec }: RawCluster, name: string): Promise<Cluster> =>
  open().platform.create(Cluster, {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'Cluster',
    metadata: { name, ...metadata, namespace },
    spec: spec as never,
  });

/** The creation of its machines has begun: the rest does not depend on the generated input any more. */
const accepted: SubmissionReader<Cluster> = (cluster) => {
  const { conditions } = cluster.status ?? {};
  if (isConditionTrue(conditions, 'Accepted') && isConditionTrue(conditions, 'SecretsReady')) return { kind: 'served' };
  return readRejection(cluster, 'Accepted');
};
const clusters = new GeneratedObjects<Cluster, RawCluster>(open, { type: Cluster, create, read: accepted });
/** The same, until the clusters are ready. */
const complete = new GeneratedObjects<Cluster, RawCluster>(open, {
  type: Cluster,
  create,
  read: ({ status }) => (status?.phase === 'Ready' ? { kind: 'served' } : undefined),
});

const plain: RawCluster = { metadata: {}, spec: { profile: offer.profile, tenancy: 'Exclusive' } };
const nameless = ({ spec }: RawCluster): RawCluster => ({ metadata: {}, spec });

describe('a generated Cluster', () => {
  it('that is valid is reconciled, whatever its name and its metadata', async () => {
    await fc.assert(
      fc.asyncProperty(anyCluster(offer), (value) => clusters.serve(value)),
      propertyParameters('right Clusters', 6),
    );
  });

  const specs = () => anyCluster(offer).map(({ spec }) => spec);
  clusters.itRefusesBySchema(specSchema(openmcpCrds, 'Cluster'), specs, (spec) => ({ metadata: {}, spec }), 30);
  clusters.itRefusesByCondition(() => invalidCluster(offer), 40);

  it('of a foreign profile is not touched', async () => {
    const { calls } = open();
    const first = calls.length;
    const foreign = fc.sample(anyCluster({ ...offer, profile: 'test.other.home' }), {
      numRuns: 10,
      seed: propertySeed,
    });
    const made = await Promise.all(foreign.map((value, i) => create(nameless(value), `foreign-${i}`)));
    await clusters.serve(plain);
    expect(providerWrites(calls.slice(first)).filter((name) => name.includes('foreign-'))).toEqual([]);
    await Promise.all(made.map((one) => deleteAndAwait(open(), Cluster, one)));
  });

  it('that is invalid costs a few calls of its own and delays no other', async () => {
    // The boot image exists after the first one.
    await complete.serve(plain);
    const { calls } = open();
    const first = calls.length;
    const bad = fc
      .sample(invalidCluster(offer), { numRuns: 40, seed: propertySeed })
      .map(({ value }) => nameless(value));
    await complete.expectUndisturbed(plain, bad, workFor);
    const spent = providerCalls(calls.slice(first)).filter(({ name }) => name.includes('/bad-'));
    // The finalizer, the label, the verdict; at deletion the phase, the secrets, and the finalizer. Some are repeated.
    expect(spent.length).toBeLessThanOrEqual(7 * bad.length);
  });
});

/** The calls that write for a Cluster, status writes excepted: to the platform and to the TrueNAS system. */
function workFor(calls: readonly InterceptedCall[], name: string): string[] {
  const nas = calls.filter(({ simulator }) => simulator === 'truenas');
  const written = [...providerWrites(calls), ...infrastructureWrites(nas)];
  const own = written.filter((call) => !/\/status$|\/bad-|leases|events/.test(call));
  return own.map((call) => call.replaceAll(new RegExp(`${name}(-[a-z2-7]{8})?`, 'g'), '…')).sort();
}

describe('after these tests', () => {
  it('nothing is left of the Clusters', async () => {
    expect(await listLeftovers(open())).toEqual(['ProviderConfig home', 'ClusterProfile test.talos.home']);
  });

  it('the provider logs no fault of its own, and no message shows internals or a secret', () => {
    expectNoErrorsLogged(open());
    expect(findSecretLeaks(open())).toEqual([]);
  });
});
