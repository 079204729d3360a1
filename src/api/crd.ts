import type { z } from 'zod';
import { CustomResourceDefinition } from '../kube/core-types.ts';
import { apiVersionOf, type ResourceType } from '../kube/resource.ts';
import { ClusterConfig, ClusterConfigSpec } from './cluster-config.ts';
import { Host, HostSpec, HostStatus } from './host.ts';
import { Machine, MachineSpec, MachineStatus } from './machine.ts';
import { openmcpKeys } from './names.ts';
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
const readyColumn = printerColumn(
  'Ready',
  '.status.conditions[?(@.type=="Ready")].status',
  'Whether all is as asked for',
);
const messageColumn = (jsonPath: string) => printerColumn('Why', jsonPath, 'What it is doing or what it waits for');
const ageColumn: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

const crdDefinitions: readonly CrdDefinition[] = [
  {
    type: ProviderConfig,
    shortName: 'tpc',
    description:
      'A template for clusters on one platform. Each gives one ClusterProfile, <environment>.<provider>.<name>, that Clusters can ask for.',
    spec: ProviderConfigSpec,
    status: ProviderConfigStatus,
    columns: [
      readyColumn,
      printerColumn('Profile', '.status.profile', 'The ClusterProfile to ask for'),
      printerColumn('Talos', '.spec.talos.version', 'Talos version of new nodes'),
      { ...printerColumn('Clusters', '.status.clusters', 'Number of Clusters that use it'), type: 'integer' },
      messageColumn('.status.conditions[?(@.type=="Ready")].message'),
      ageColumn,
    ],
    selectableFields: ['.spec.providerRef.name'],
  },
  {
    type: ClusterConfig,
    shortName: 'tcc',
    description:
      'What is different from the ProviderConfig for the Clusters of its namespace that name it in spec.clusterConfigs. They say whether it can be used.',
    spec: ClusterConfigSpec,
    columns: [
      {
        ...printerColumn('Control planes', '.spec.controlPlane.replicas', 'Number of them, where it is different'),
        type: 'integer',
      },
      ageColumn,
    ],
    selectableFields: [],
  },
  {
    type: Machine,
    shortName: 'tm',
    description: 'One Talos node and the record of its steps. Made, changed and deleted by the provider alone.',
    spec: MachineSpec,
    status: MachineStatus,
    columns: [
      printerColumn('Cluster', '.spec.clusterRef.name', 'The Cluster that it belongs to'),
      printerColumn('Role', '.spec.role', 'controlplane or worker'),
      printerColumn('Phase', '.status.phase', 'Where it stands'),
      printerColumn('Step', '.status.progress.step', 'The step that runs or runs next'),
      printerColumn('Address', '.status.address', 'Address of the node'),
      messageColumn('.status.message'),
      ageColumn,
      widePrinterColumn('Namespace', '.spec.clusterRef.namespace', 'Namespace of the Cluster'),
      widePrinterColumn('Config', '.spec.providerConfigRef.name', 'The ProviderConfig that it was made from'),
      widePrinterColumn('Pool', '.spec.pool', 'Worker pool, or cp for control planes'),
      widePrinterColumn('Site', '.spec.failureDomain', 'Where it is made, if there are several places'),
      widePrinterColumn('Talos', '.spec.talosVersion', 'Talos version that it was made with'),
      widePrinterColumn('Kubernetes', '.spec.kubernetesVersion', 'Kubernetes version that it was made with'),
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
    type: Host,
    shortName: 'th',
    description: 'One physical server that may be used. A server without a Host is never touched.',
    spec: HostSpec,
    status: HostStatus,
    columns: [
      printerColumn('Server', '.spec.serverID', 'ID of the server at its provider'),
      printerColumn('State', '.status.state', 'What it is being used for'),
      printerColumn('Machine', '.status.machineRef.name', 'The Machine that holds it'),
      printerColumn('Product', '.status.server.product', 'What was ordered'),
      printerColumn('Address', '.status.server.address', 'Main address'),
      messageColumn('.status.message'),
      ageColumn,
      widePrinterColumn('Location', '.status.server.location', 'Where it stands'),
      widePrinterColumn('CPU', '.status.hardware.cpu.model', 'Processor that was found'),
      {
        ...widePrinterColumn('Threads', '.status.hardware.cpu.threads', 'Threads that it runs at once'),
        type: 'integer',
      },
      { ...widePrinterColumn('RAM', '.status.hardware.memoryMiB', 'Memory that was found, in MiB'), type: 'integer' },
      {
        ...widePrinterColumn('Maintenance', '.spec.maintenance', 'Whether it is to be kept out of use'),
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
          ...(kind.status ? { subresources: { status: {} } } : {}),
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
      spec: { description: 'What is asked for.', ...toStructuralSchema(kind.spec) },
      ...(kind.status
        ? {
            status: {
              description: 'What was found and done. Written by the provider.',
              ...toStructuralSchema(kind.status),
            },
          }
        : {}),
    },
  };
}
