import { expect, it } from 'vitest';
import { aCluster } from '../../../test/support/fixtures/builders.ts';
import { aClusterView, anEndpoint, someSecrets } from '../../../test/support/fixtures/cluster-views.ts';
import { annotations } from '../../api/names.ts';
import type { ResourceType } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Services } from '../shared/services.ts';
import type { ClusterView } from './view.ts';
import { withdrawAccess } from './withdraw-access.ts';

const { signal } = new AbortController();
const secrets = { ...someSecrets(), endpoint: anEndpoint.url };
const view = (change: Partial<ClusterView> = {}) => aClusterView({ secrets, ...change });

/** An API server with one object of each kind and selector; undefined: it does not answer. */
function servicesWith(removed: string[] | undefined): Services {
  const client = {
    list: async ({ kind }: ResourceType, { labelSelector }: { labelSelector: string }) => ({
      items: [{ apiVersion: 'v1', kind, metadata: { name: labelSelector, uid: 'one' } }],
    }),
    remove: async ({ kind }: ResourceType, { name }: { name: string }) => removed?.push(`${kind} ${name}`),
  };
  const targets = {
    client: async () => {
      if (removed) return client;
      throw new ProviderError('UNREACHABLE', 'It is silent.');
    },
  };
  return { provider: 'talos', targets } as unknown as Services;
}

it('removes what has the mark of the provider, bindings before roles before accounts', async () => {
  const removed: string[] = [];
  expect(await withdrawAccess(servicesWith(removed), view(), signal)).toBeUndefined();
  const kinds = ['RoleBinding', 'ClusterRoleBinding', 'Role', 'ClusterRole', 'ServiceAccount', 'ClusterRoleBinding'];
  expect(removed.map((one) => one.split(' ')[0])).toEqual(kinds);
  const ofRequests = /\/provider=talos,talos\.clusters\.openmcp\.cloud\/access$/;
  expect(removed.slice(0, 5).every((one) => ofRequests.test(one))).toBe(true);
  expect(removed[5]).toBe('ClusterRoleBinding app.kubernetes.io/managed-by=cluster-provider-talos');
});

it('says why it is not possible, until a user approves that it stays', async () => {
  expect(await withdrawAccess(servicesWith(undefined), view(), signal)).toContain('It is silent.');
  const cluster = aCluster({}, { annotations: { [annotations.approve]: 'AccessNotRemoved' } });
  expect(await withdrawAccess(servicesWith(undefined), view({ cluster }), signal)).toBeUndefined();
});

it('does not forget a cluster whose secrets are missing, and has nothing to do for one that was not adopted', async () => {
  const secretsProblem = { reason: 'SecretsMissing', message: 'Restore it.' } as const;
  expect(await withdrawAccess(servicesWith(undefined), view({ secrets: undefined, secretsProblem }), signal)).toBe(
    'Restore it.',
  );
  expect(await withdrawAccess(servicesWith(undefined), view({ secrets: undefined }), signal)).toBeUndefined();
});
