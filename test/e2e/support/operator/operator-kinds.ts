import type { Condition } from '../../../../src/api/conditions.ts';
import { leaseName } from '../../../../src/api/names.ts';
import { Lease } from '../../../../src/kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../../../src/kube/resource.ts';
import type { Kubelet } from '../kubelet/kubelet.ts';
import type { PodWorker } from '../kubelet/pod-worker.ts';
import type { AuditEntry } from '../observation/audit-log.ts';
import { findFencingViolations, isMutatingCall, type MutatingCall } from '../observation/fencing-monitor.ts';
import type { Testbed } from '../testbed/testbed.ts';

/** The operator's object for a provider. */
export interface ClusterProvider extends KubeObject {
  spec: {
    image: string;
    verbosity?: string;
    env?: { name: string; value: string }[];
    initCommand?: string[];
    runCommand?: string[];
    runReplicas?: number;
    extraVolumes?: object[];
    extraVolumeMounts?: object[];
    metrics?: { disabled: boolean; port?: number };
  };
  status?: { phase?: string; observedGeneration?: number; conditions?: Condition[] };
}
export const ClusterProvider: ResourceType<ClusterProvider> = {
  group: 'openmcp.cloud',
  version: 'v1alpha1',
  kind: 'ClusterProvider',
  plural: 'clusterproviders',
  namespaced: false,
};

const apps = { group: 'apps', version: 'v1', namespaced: true } as const;
export const Deployment: ResourceType = { ...apps, kind: 'Deployment', plural: 'deployments' };
export const ReplicaSet: ResourceType = { ...apps, kind: 'ReplicaSet', plural: 'replicasets' };
export const BatchJob: ResourceType = { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', namespaced: true };
export const KubeService: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
};

/** The endpoints of a Service, as the controller-manager writes them. */
export interface EndpointSlice extends KubeObject {
  endpoints?: { addresses: string[]; conditions?: { ready?: boolean } }[];
  ports?: { name?: string; port?: number }[];
}
export const EndpointSlice: ResourceType<EndpointSlice> = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
};

/** Whether a Pod is one of the operator's Deployment, not of its Job. */
export const isControllerPod = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.['app.kubernetes.io/component'] === 'controller';

const leaderLeaseName = leaseName('test', 'talos');
const isLeaseRequest = ({ resource, name }: AuditEntry): boolean => resource === 'leases' && name === leaderLeaseName;
const readVerbs: readonly string[] = ['get', 'list', 'watch'];

/** The changes by processes of the Deployment, from the logs of all servers that they call. */
export class DeploymentFencingMonitor {
  readonly #testbed: Testbed;
  readonly #kubelet: Kubelet;
  readonly #outside: { readonly at: number; readonly from: string | undefined; readonly what: string }[] = [];

  constructor(testbed: Testbed, kubelet: Kubelet) {
    this.#testbed = testbed;
    this.#kubelet = kubelet;
    testbed.world.switchboard.onCall((call) => {
      if (!isMutatingCall(call)) return;
      this.#outside.push({ at: Date.now(), from: call.from, what: `${call.simulator} ${call.name}` });
    });
  }

  /** The current holder of the Lease: a Pod's name and an identifier of its run. Empty without a holder. */
  async holder(): Promise<string> {
    const lease = await this.#testbed.platform.find(Lease, {
      namespace: this.#testbed.namespace,
      name: leaderLeaseName,
    });
    return lease?.spec?.holderIdentity ?? '';
  }

  /** The Pod that holds it. */
  async leader(): Promise<PodWorker | undefined> {
    const holder = await this.holder();
    return this.#kubelet.pods.find(({ name }) => holder.startsWith(`${name}_`));
  }

  /** Mutating calls at all servers, but for those about the Lease; oldest first. */
  changes(): MutatingCall[] {
    const pods = this.#kubelet.pods.filter(({ pod }) => isControllerPod(pod));
    const inside = this.#testbed
      .audit()
      .filter(
        (call) => !isLeaseRequest(call) && !readVerbs.includes(call.verb) && pods.some(({ name }) => name === call.pod),
      )
      .map(({ at, pod, verb, resource }) => ({ at, pod, what: `${verb} ${resource}` }));
    const outside = this.#outside.flatMap(({ at, from, what }) => {
      const pod = pods.find(({ address }) => address === from);
      return pod ? [{ at, pod: pod.name, what }] : [];
    });
    return [...inside, ...outside].sort((a, b) => a.at - b.at);
  }

  changesOf({ name }: PodWorker): MutatingCall[] {
    return this.changes().filter(({ pod }) => pod === name);
  }

  /** Changes by a Pod that did not hold the Lease. */
  violations(): string[] {
    const leases = this.#testbed
      .audit()
      .filter((call) => isLeaseRequest(call) && !readVerbs.includes(call.verb) && call.code < 300)
      .map(({ at, object }) => {
        const { holderIdentity = '', leaseDurationSeconds = 0 } = (object as Lease | undefined)?.spec ?? {};
        return { at, holder: holderIdentity, lastsMs: leaseDurationSeconds * 1000 };
      });
    return findFencingViolations(leases, this.changes());
  }
}
