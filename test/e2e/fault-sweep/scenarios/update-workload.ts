import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { eventually } from '../../../support/eventually.ts';
import { Deployment } from '../../../support/fixtures/workload-kinds.ts';

const key = { namespace: 'default', name: 'shop' };
const labels = { app: 'shop' };
const replicas = 2;

/** Pods that may run on every node, so that those of a node that is drained go to another one. */
export async function deployRollingWorkload(admin: KubeClient): Promise<void> {
  await admin.create(Deployment, {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: key },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: 'web', image: 'registry.example.org/shop:1' }],
          tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' }],
        },
      },
    },
  });
  await eventually(
    'the Deployment runs',
    async () => (await admin.get(Deployment, key)).status?.readyReplicas === replicas,
    60,
  );
}
