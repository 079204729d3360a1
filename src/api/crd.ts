import type { z } from 'zod';
import { CustomResourceDefinition } from '../kube/core-types.ts';
import { apiVersionOf, type ResourceType } from '../kube/resource.ts';
import { ClusterConfig, ClusterConfigSpec } from './cluster-config.ts';
import { Host, HostSpec, HostStatus } from './host.ts';
import { Machine, MachineSpec, MachineStatus } from './machine.ts';
import { openmcpKeys } from './names.ts';
import { NodePool, NodePoolSpec, NodePoolStatus } from './node-pool.ts';
import { ProviderConfig, ProviderConfigStatus } from './provider-config.ts';
import { ProviderConfigSpec } from './provider-config-spec.ts';
import { toStructuralSchema } from './schema/structural-schema.ts';

/** One column of `kubectl get`. Columns with a priority above 0 only show with `-o wide`. */
interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description?: string;
  readonly priority?: number;
}

interface CrdDefinition {
  readonly type: ResourceType;
  readonly shortName: string;
  readonly description: string;
  readonly spec: z.ZodType;
  /** Absent for kinds that are only read. */
  readonly status?: z.ZodType;
  /** Paths of the scale subresource. */
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath: string;
  };
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields: readonly string[];
}

const printerColumn = (name: string, jsonPath: string, description: string): PrinterColumn => ({
  name,
  type: 'string',
  jsonPath,
  description,
});
const widePrinterColumn = (name: string, jsonPath: string, description: string): PrinterColumn => ({
  ...printerColumn(name, jsonPath, description),
  priority: 1,
});
const countColumn = (name: string, jsonPath: string, description: string): PrinterColumn => ({
  ...printerColumn(name, jsonPath, description),
  type: 'integer',
});
const readyColumn = printerColumn(
  'Ready',
  '.status.conditions[?(@.type=="Ready")].status',
  'Whether the object is in its desired state',
);
const messageColumn = (jsonPath: string) =>
  printerColumn('Why', jsonPath, 'Current activity, or the reason for waiting');
const ageColumn: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

const crdDefinitions: readonly CrdDefinition[] = [
  {
    type: ProviderConfig,
    shortName: 'tpc',
    description:
      'ProviderConfig is a template for clusters on one platform. It is published as the ClusterProfile <environment>.<provider>.<name>.',
    spec: ProviderConfigSpec,
    status: ProviderConfigStatus,
    columns: [
      readyColumn,
      printerColumn('Profile', '.status.profile', 'Name of the published ClusterProfile'),
      printerColumn('Talos', '.spec.talos.version', 'Talos version of new nodes'),
      {
        ...printerColumn('Clusters', '.status.clusters', 'Number of Clusters that use the ProviderConfig'),
        type: 'integer',
      },
      messageColumn('.status.conditions[?(@.type=="Ready")].message'),
      ageColumn,
    ],
    selectableFields: ['.spec.providerRef.name'],
  },
  {
    type: ClusterConfig,
    shortName: 'tcc',
    description:
      'ClusterConfig overrides values of the ProviderConfig for the Clusters of its namespace that reference it in spec.clusterConfigs. The conditions of these Clusters report whether it is valid.',
    spec: ClusterConfigSpec,
    columns: [
      {
        ...printerColumn(
          'Control planes',
          '.spec.controlPlane.replicas',
          'Number of control-plane nodes, if overridden',
        ),
        type: 'integer',
      },
      ageColumn,
    ],
    selectableFields: [],
  },
  {
    type: Machine,
    shortName: 'tm',
    description:
      'Machine is one Talos node and the progress of its steps. Only the provider creates, changes and deletes Machines.',
    spec: MachineSpec,
    status: MachineStatus,
    columns: [
      printerColumn('Cluster', '.spec.clusterRef.name', 'Name of the Cluster'),
      printerColumn('Role', '.spec.role', 'controlplane or worker'),
      printerColumn('Phase', '.status.phase', 'Phase'),
      printerColumn(
        'Up-To-Date',
        '.status.conditions[?(@.type=="UpToDate")].status',
        'Whether the node has the configuration and version of its ProviderConfig',
      ),
      printerColumn('Address', '.status.address', 'Address of the node'),
      messageColumn('.status.message'),
      ageColumn,
      widePrinterColumn('Step', '.status.progress.step', 'Current step'),
      widePrinterColumn('Namespace', '.spec.clusterRef.namespace', 'Namespace of the Cluster'),
      widePrinterColumn('Config', '.spec.providerConfigRef.name', 'Name of the ProviderConfig'),
      widePrinterColumn('Pool', '.spec.pool', 'Worker pool, or cp for control planes'),
      widePrinterColumn('Site', '.spec.failureDomain', 'Failure domain, if the ProviderConfig has several'),
      widePrinterColumn('Talos', '.status.applied.talosVersion', 'Talos version that the node runs'),
      widePrinterColumn('Kubernetes', '.spec.kubernetesVersion', 'Kubernetes version at creation'),
    ],
    selectableFields: [
      '.spec.providerRef.name',
      '.spec.providerConfigRef.name',
      '.spec.clusterRef.namespace',
      '.spec.clusterRef.name',
      '.status.phase',
    ],
  },
  {
    type: NodePool,
    shortName: 'tnp',
    description:
      'NodePool is the number of nodes of one worker pool of a Cluster, for kubectl scale and autoscalers. Only the provider creates and deletes NodePools.',
    spec: NodePoolSpec,
    status: NodePoolStatus,
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
    columns: [
      printerColumn('Cluster', '.spec.clusterRef.name', 'Name of the Cluster'),
      printerColumn('Pool', '.spec.pool', 'Worker pool'),
      countColumn('Desired', '.status.desiredReplicas', 'Number of nodes that the pool is given'),
      countColumn('Ready', '.status.readyReplicas', 'Number of nodes that are ready'),
      countColumn('Min', '.status.minReplicas', 'Smallest number of nodes, if it can be changed'),
      countColumn('Max', '.status.maxReplicas', 'Largest number of nodes, if it can be changed'),
      ageColumn,
      widePrinterColumn('Namespace', '.spec.clusterRef.namespace', 'Namespace of the Cluster'),
    ],
    selectableFields: ['.spec.clusterRef.namespace', '.spec.clusterRef.name'],
  },
  {
    type: Host,
    shortName: 'th',
    description: 'Host is one physical server that the provider may use. Servers without a Host are never accessed.',
    spec: HostSpec,
    status: HostStatus,
    columns: [
      printerColumn('Server', '.spec.serverID', 'ID of the server at its provider'),
      printerColumn('State', '.status.state', 'What it is being used for'),
      printerColumn('Machine', '.status.machineRef.name', 'Name of the Machine that holds the Host'),
      printerColumn('Product', '.status.server.product', 'Product name'),
      printerColumn('Address', '.status.server.address', 'Main address'),
      messageColumn('.status.message'),
      ageColumn,
      widePrinterColumn('Location', '.status.server.location', 'Data center of the server'),
      widePrinterColumn('CPU', '.status.hardware.cpu.model', 'Processor model'),
      {
        ...widePrinterColumn('Threads', '.status.hardware.cpu.threads', 'Number of hardware threads'),
        type: 'integer',
      },
      { ...widePrinterColumn('RAM', '.status.hardware.memoryMiB', 'Memory, in MiB'), type: 'integer' },
      {
        ...widePrinterColumn('Maintenance', '.spec.maintenance', 'Whether the Host is in maintenance'),
        type: 'boolean',
      },
      widePrinterColumn('Description', '.spec.description', 'For people'),
    ],
    selectableFields: ['.status.state'],
  },
];

/**
 * The CustomResourceDefinitions of this provider, built from the schemas that its code parses with. `init` applies
 * them; `config/crd` holds the same as files.
 */
export function buildCrds(): readonly CustomResourceDefinition[] {
  return crdDefinitions.map(buildCrd);
}

function buildCrd(kind: CrdDefinition): CustomResourceDefinition {
  const { type } = kind;
  return {
    apiVersion: apiVersionOf(CustomResourceDefinition),
    kind: CustomResourceDefinition.kind,
    metadata: {
      name: `${type.plural}.${type.group}`,
      labels: { [openmcpKeys.crdCluster]: 'platform' },
    },
    spec: {
      group: type.group,
      scope: type.namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind: type.kind,
        listKind: `${type.kind}List`,
        plural: type.plural,
        singular: type.kind.toLowerCase(),
        shortNames: [kind.shortName],
        categories: ['openmcp', 'talos'],
      },
      versions: [
        {
          name: type.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: buildRootSchema(kind) },
          ...(kind.status ? { subresources: { status: {}, ...(kind.scale ? { scale: kind.scale } : {}) } } : {}),
          additionalPrinterColumns: kind.columns,
          ...(kind.selectableFields.length > 0
            ? { selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })) }
            : {}),
        },
      ],
    },
  };
}

/** Names of cluster-scoped objects become label values of other objects, which have at most 63 characters. */
const nameLengthRule = {
  rule: 'self.metadata.name.size() <= 63',
  message: 'metadata.name must have at most 63 characters: it is used as a label value',
};

function buildRootSchema(kind: CrdDefinition) {
  return {
    description: kind.description,
    type: 'object',
    ...(kind.type.namespaced ? {} : { 'x-kubernetes-validations': [nameLengthRule] }),
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'Version of the schema that this object is written in.' },
      kind: { type: 'string', description: 'Kind of the object.' },
      metadata: { type: 'object' },
      spec: { description: 'Desired state.', ...toStructuralSchema(kind.spec) },
      ...(kind.status
        ? {
            status: {
              description: 'Observed state, written by the provider.',
              ...toStructuralSchema(kind.status),
            },
          }
        : {}),
    },
  };
}
