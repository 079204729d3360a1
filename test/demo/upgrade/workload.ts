import type { KubeClient } from '../../../src/kube/client/client.ts';
import { Deployment, DisruptionBudget } from '../../support/fixtures/workload-kinds.ts';
import { waitForResult } from '../wait-for-result.ts';

const key = { namespace: 'default', name: 'shop' };
const labels = { app: 'shop' };
const replicas = 2;

/** A Deployment of which at least one Pod must run at any time. */
export async function deployWorkload(admin: KubeClient): Promise<string> {
  await admin.create(Deployment, {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: key },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'registry.example.org/shop:1' }] } },
    },
  });
  await admin.create(DisruptionBudget, {
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: key },
    spec: { minAvailable: 1, selector: { matchLabels: labels } },
  });
  await waitForResult('A running Deployment', 60, async () => {
    const { status } = await admin.get(Deployment, key);
    return status?.readyReplicas === replicas || undefined;
  });
  return `Deployment ${key.namespace}/${key.name}: ${replicas} Pods, of which a PodDisruptionBudget keeps at least one`;
}
