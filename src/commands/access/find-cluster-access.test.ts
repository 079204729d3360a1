import { describe, expect, it } from 'vitest';
import { aCluster, aMachine, anInstance } from '../../../test/support/fixtures/builders.ts';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { clusterIdentityAnnotations } from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import { clusterId, clusterSecretsName, instanceFinalizers, labels } from '../../api/names.ts';
import { clusterIdentityOf } from '../../controllers/cluster/identity.ts';
import { secretsBundleKey } from '../../controllers/shared/secrets/cluster-secrets.ts';
import type { Secret } from '../../kube/core-types.ts';
import type { KubeObject } from '../../kube/resource.ts';
import { formatSecretsBundle } from '../../talos/secrets/secrets-bundle-file.ts';
import { FileObjectReader } from '../read-only/file-object-reader.ts';
import { findClusterAccess } from './find-cluster-access.ts';

const { namespace } = anInstance;
const ref = { namespace: aCluster().metadata.namespace ?? '', name: aCluster().metadata.name };
const held = aCluster({}, { finalizers: [instanceFinalizers(anInstance).cluster] });
const text = formatSecretsBundle(await exampleSecretsBundle()).reveal();
const secretOf = (data = text): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: clusterSecretsName(ref),
    namespace,
    annotations: clusterIdentityAnnotations(clusterIdentityOf(held)),
  },
  data: { [secretsBundleKey]: Buffer.from(data).toString('base64') },
});

const machineOf = (change: Partial<Machine['spec']> = {}): Machine => {
  const { metadata, spec, ...rest } = aMachine();
  const marks = { [labels.cluster]: clusterId(ref) };
  return { ...rest, metadata: { ...metadata, labels: marks }, spec: { ...spec, ...change } };
};

/** The answer of a platform cluster with only these objects. */
const findAmong = async (...objects: readonly KubeObject[]) => {
  const { signal } = new AbortController();
  return await findClusterAccess({ kube: new FileObjectReader(objects), namespace, signal }, ref);
};

it('returns a cluster with its own Machines and no others', async () => {
  const other = machineOf({ clusterRef: { ...ref, uid: 'earlier' } });
  const { machines, secrets } = await findAmong(held, machineOf(), other, secretOf());
  expect(machines).toEqual([machineOf()]);
  expect(secrets.talosCa).toMatch(/^[0-9a-f]{64}$/);
});

describe('names the remedy', () => {
  const elsewhere = machineOf({ providerRef: { ...aMachine().spec.providerRef, namespace: 'other-system' } });
  const foreign = secretOf();
  foreign.metadata.annotations = {};

  it.each<[string, readonly KubeObject[], RegExp]>([
    ['without the Cluster', [], /--cluster: there is no Cluster prod in namespace team/],
    ['for a Cluster of another provider', [aCluster()], /has no finalizer talos\..*profile of a Talos provider/],
    ['for a provider in another namespace', [held, elsewhere], /Set POD_NAMESPACE to other-system\./],
    ['before the Secret exists', [held], /Wait until the condition SecretsReady .* is True\./],
    ['for a lost Secret', [held, machineOf()], /does not exist, but .*Restore the Secret/],
    ['for a damaged Secret', [held, secretOf('cluster: {}')], /secretboxencryptionsecret/],
    ['for a Secret of another Cluster', [held, foreign], /which belongs to no known Cluster/],
  ])('%s', async (_title, objects, message) => {
    await expect(findAmong(...objects)).rejects.toThrow(message);
  });
});
