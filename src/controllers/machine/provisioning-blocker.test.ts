import { expect, it } from 'vitest';
import { aCluster, aMachine, anInstance } from '../../../test/support/fixtures/builders.ts';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { clusterIdentityAnnotations } from '../../api/cluster-identity.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { Secret } from '../../kube/core-types.ts';
import { formatSecretsBundle } from '../../talos/secrets/secrets-bundle-file.ts';
import { clusterIdentityOf } from '../cluster/identity.ts';
import { clusterRecordKey } from '../shared/secrets/cluster-record.ts';
import { secretsBundleKey } from '../shared/secrets/cluster-secrets.ts';
import { findProvisioningBlocker } from './provisioning-blocker.ts';

const data = {
  [secretsBundleKey]: Buffer.from(formatSecretsBundle(await exampleSecretsBundle()).reveal()).toString('base64'),
};
const annotations = clusterIdentityAnnotations(clusterIdentityOf(aCluster()));
const secret: Secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'any', annotations }, data };
const other: Cluster = {
  ...aCluster(),
  status: { observedGeneration: 1, phase: '', providerStatus: { [clusterRecordKey]: { talosCa: 'f'.repeat(64) } } },
};

async function ask(cluster: Cluster | undefined, cached: Secret | undefined, live: Secret | undefined) {
  let asked = 0;
  const find = async () => {
    asked += 1;
    return live;
  };
  const stores = {
    clusters: { get: () => cluster },
    machines: { by: () => [aMachine()] },
    secrets: { get: () => cached },
  };
  const services = { ...anInstance, kube: { find }, stores } as unknown as Parameters<
    typeof findProvisioningBlocker
  >[0];
  return { error: await findProvisioningBlocker(services, aMachine(), AbortSignal.timeout(5000)), asked };
}

it('provisioning continues while the secrets of the cluster are in the cache, without requests', async () => {
  expect(await ask(aCluster(), secret, undefined)).toEqual({ error: undefined, asked: 0 });
  expect(await ask(undefined, undefined, undefined)).toEqual({ error: undefined, asked: 0 });
});

it('a Secret that the cache does not show yet does not block provisioning', async () => {
  expect(await ask(aCluster(), undefined, secret)).toEqual({ error: undefined, asked: 1 });
});

it('provisioning stops without the secrets of the cluster, or with those of another', async () => {
  const missing = await ask(aCluster(), undefined, undefined);
  expect(missing.error).toMatchObject({ code: 'CLUSTER_SECRETS_MISSING' });
  expect(missing.error?.message).toContain('Restore the Secret from a backup');
  expect((await ask(other, secret, secret)).error).toMatchObject({ code: 'CLUSTER_SECRETS_DIFFER' });
});
