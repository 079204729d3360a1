import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ClusterRole, CustomResourceDefinition, Secret } from '../../../src/kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import { missingForKueue, kueueNamespace as namespace, startKueue } from '../../peers/kueue.ts';
import type { PeerProcess } from '../../peers/peer-process.ts';
import { eventually } from '../../support/eventually.ts';
import { kueueCrds, kueueType } from '../../support/fixtures/kueue-crds.ts';
import { multiclusterCrd } from '../../support/fixtures/multicluster-crds.ts';
import { missingForRealWorkload } from '../../world/talos/workload/real-workload.ts';
import { restartNodesByRollout } from '../support/access/change-nodes.ts';
import { agedToken, publishedHelpers, publishedKubeconfig, readerRole } from '../support/access/published.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { missingForRealPlatformCluster } from '../support/testbed/real-platform-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const group = 'kueue.x-k8s.io';
/** As in the guide. */
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
const jobs: ResourceType<KubeObject & { spec: object }> = {
  ...{ group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', namespaced: true },
};

const missing = missingForKueue() ?? missingForRealWorkload() ?? missingForRealPlatformCluster();
if (missing) it('Kueue dispatches to a published cluster', ({ skip }) => skip(missing));
else withKueue();

function withKueue(): void {
  const open = startTestbed({ subnet: '127.43.72', platform: 'real', workload: 'real' });
  const cluster = { namespace: 'shop', name: 'main' };
  const { name, secret, isPublished } = publishedHelpers(open, cluster, namespace);
  /** How Kueue finds the cluster. Each form has a queue of its own. */
  const sources = {
    secret: { kubeConfig: { locationType: 'Secret', location: name } },
    profile: { clusterProfileRef: { name } },
  };
  type Form = keyof typeof sources;
  const forms = Object.keys(sources) as Form[];
  let kueue: PeerProcess | undefined;
  let folder: string | undefined;

  const make = (kind: Parameters<typeof kueueType>[0], called: string, spec: object): Promise<unknown> => {
    const type = kueueType(kind);
    const metadata = { name: called, ...(type.namespaced && { namespace: 'default' }) };
    return open().platform.create(type, { apiVersion: `${group}/${type.version}`, kind, metadata, spec: { ...spec } });
  };
  const isActive = (form: Form, status: 'True' | 'False', reason: string): Promise<unknown> =>
    eventually(`${form} is Active=${status}, ${reason}`, async () => {
      const { status: found } = await open().platform.get(kueueType('MultiKueueCluster'), { name: form });
      expect(found?.conditions?.find(({ type }) => type === 'Active')).toMatchObject({ status, reason });
      return true;
    }).catch((error: unknown) => {
      process.stderr.write(`--- kueue\n${kueue?.tail()}\n`);
      throw error;
    });
  /** A Job in the queue comes into the cluster as a Workload: with the published credentials. */
  const dispatches = async (form: Form, called: string): Promise<void> => {
    const key = { namespace: 'default', name: called };
    const container = { name: 'work', image: 'registry.example.org/work:1', resources: { requests: { cpu: '100m' } } };
    await open().platform.create(jobs, {
      ...{ apiVersion: 'batch/v1', kind: 'Job' },
      metadata: { ...key, labels: { [`${group}/queue-name`]: form } },
      spec: {
        ...{ suspend: true, managedBy: `${group}/multikueue` },
        template: { spec: { restartPolicy: 'Never', containers: [container] } },
      },
    });
    await eventually(`the Job ${called} is in the cluster`, async () => {
      const { items } = await withAdminClient(open(), cluster, (admin) => admin.list(kueueType('Workload')));
      return items.some(({ metadata }) => metadata.name.startsWith(`job-${called}-`));
    }).catch((error: unknown) => {
      process.stderr.write(`--- kueue\n${kueue?.tail()}\n`);
      throw error;
    });
  };

  afterAll(async () => {
    await kueue?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  prepareTestbed(open, async ({ objects, platform, world }) => {
    for (const crd of [multiclusterCrd('ClusterProfile'), ...kueueCrds()])
      await platform.create(CustomResourceDefinition, crd);
    await objects.ensureNamespace(namespace);
    await objects.credentials();
    const section = { namespace, clusterRole: readerRole };
    await objects.config('home', {
      change: (spec) => Object.assign(spec, { publish: { kubeconfigSecret: section, clusterProfile: section } }),
    });
    folder = await mkdtemp(join(tmpdir(), 'kueue-'));
    kueue = await startKueue({ folder, kubeconfig: world.kubeconfig });
    await make('ResourceFlavor', 'default', {});
    for (const form of forms) {
      const parameters = { apiGroup: group, kind: 'MultiKueueConfig', name: form };
      await make('MultiKueueCluster', form, { clusterSource: sources[form] });
      await make('MultiKueueConfig', form, { clusters: [form] });
      await make('AdmissionCheck', form, { controllerName: `${group}/multikueue`, parameters });
      await make('ClusterQueue', form, {
        ...{ namespaceSelector: {}, queueingStrategy: 'BestEffortFIFO', stopPolicy: 'None' },
        admissionChecksStrategy: { admissionChecks: [{ name: form }] },
        resourceGroups: [
          {
            coveredResources: ['cpu'],
            flavors: [{ name: 'default', resources: [{ name: 'cpu', nominalQuota: '10' }] }],
          },
        ],
      });
      await make('LocalQueue', form, { clusterQueue: form, stopPolicy: 'None' });
    }
    await objects.cluster(cluster);
    await isPublished('False', 'ClusterRoleMissing');
    await withAdminClient(open(), cluster, async (admin) => {
      for (const crd of kueueCrds()) await admin.create(CustomResourceDefinition, crd);
      await admin.create(ClusterRole, {
        ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: readerRole } },
        rules: [
          { apiGroups: [group], resources: ['workloads', 'workloads/status'], verbs },
          { apiGroups: ['batch'], resources: ['jobs', 'jobs/status'], verbs },
        ],
      });
    });
  });

  describe.each(forms)('M1, M4, M11: MultiKueue, with a cluster source of the form %s', (form) => {
    it('connects when the cluster is published, and brings a Job into it', async () => {
      await isPublished('True');
      await isActive(form, 'True', 'Active');
      await dispatches(form, `first-${form}`);
    });

    it('M2, M7: goes on with a renewed token', async () => {
      const suffix = form === 'profile' ? '-profile' : '';
      const before = publishedKubeconfig(await secret(suffix));
      const key = { namespace, name: `${name}${suffix}` };
      await open().platform.merge(Secret, key, { metadata: { annotations: agedToken() } });
      await eventually('the token is another', async () => publishedKubeconfig(await secret(suffix)) !== before);
      await isActive(form, 'True', 'Active');
      await dispatches(form, `second-${form}`);
    });
  });

  it('it is connected again after a rollout has restarted the only node', async () => {
    await restartNodesByRollout(open(), cluster);
    for (const form of forms) {
      await isActive(form, 'True', 'Active');
      await dispatches(form, `third-${form}`);
    }
  });

  it('M3, M13: it lets go before any machine is touched', async () => {
    const { objects } = open();
    await objects.remove(Cluster, cluster);
    await isActive('secret', 'False', 'BadKubeConfig');
    await isActive('profile', 'False', 'BadClusterProfile');
    const machines = await objects.machines(cluster);
    expect(machines.map(({ metadata }) => metadata.deletionTimestamp)).toEqual(machines.map(() => undefined));
    expect(machines).not.toEqual([]);
    await eventually('the Cluster is gone', async () => !(await objects.exists(Cluster, cluster)));
  });
}
