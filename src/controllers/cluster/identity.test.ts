import { expect, it } from 'vitest';
import type { Cluster } from '../../api/openmcp/types.ts';
import { clusterIdentityOf, importedIdentityKey } from './identity.ts';

const cluster = (imported?: unknown): Cluster => ({
  ...{ apiVersion: 'clusters.openmcp.cloud/v1alpha1', kind: 'Cluster' },
  metadata: { namespace: 'shop', name: 'prod', uid: 'new' },
  spec: { profile: 'p', tenancy: 'Exclusive' },
  status: { observedGeneration: 1, phase: 'Ready', providerStatus: { [importedIdentityKey]: imported } },
});

it.each<[string, unknown, string]>([
  ['without an import', undefined, 'new'],
  ['after an import', { uid: 'former', importedAs: 'new' }, 'former'],
  ['when the entry was copied from another object', { uid: 'former', importedAs: 'other' }, 'new'],
  ['when the entry is not complete', { uid: 'former' }, 'new'],
])('the UID of a Cluster %s', (_, imported, uid) => {
  expect(clusterIdentityOf(cluster(imported))).toEqual({ namespace: 'shop', name: 'prod', uid });
});
