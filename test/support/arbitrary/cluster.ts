import fc from 'fast-check';
import type { ObjectMeta } from '../../../src/kube/resource.ts';
import type { InvalidValue } from './schema-violations.ts';
import { dnsLabel, labelValue } from './strings.ts';

/** A Cluster as users write it, without its namespace; without a name it can get any. */
export interface RawCluster {
  readonly metadata: Partial<Pick<ObjectMeta, 'name' | 'labels' | 'annotations'>>;
  readonly spec: Record<string, unknown>;
}

/** The versions that a Cluster can choose. */
export interface OfferedVersions {
  readonly profile: string;
  readonly versions: readonly string[];
}

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });

/** Short names, names with dots, and names of maximum length. */
const anyName = fc.oneof(
  dnsLabel(20),
  fc.tuple(dnsLabel(8), dnsLabel(8)).map(([a, b]) => `${a}.${b}`),
  fc.stringMatching(/^[0-9]-?[a-z]$/),
  dnsLabel(12).map((start) => `${start}-${'long-'.repeat(45)}name`),
);

const prefix = 'metadata.open-control-plane.io/';
const propagatedMetadata = (value: fc.Arbitrary<string>) =>
  fc.dictionary(
    fc.oneof(
      dnsLabel(8),
      dnsLabel(8).map((name) => `${prefix}${name}`),
    ),
    value,
    {
      maxKeys: 2,
      noNullPrototype: true,
    },
  );

/** A Cluster that must become ready with those versions. */
export const anyCluster = ({ profile, versions }: OfferedVersions): fc.Arbitrary<RawCluster> =>
  fc
    .record({
      name: anyName,
      labels: propagatedMetadata(labelValue),
      annotations: propagatedMetadata(fc.string({ unit: 'grapheme', maxLength: 20 })),
      version: optional(fc.constantFrom(...versions, ...versions.map((version) => `v${version}`), '')),
      tenancy: fc.constantFrom('Exclusive', 'Shared'),
      purposes: optional(fc.array(dnsLabel(8), { minLength: 1, maxLength: 3 })),
      configs: optional(fc.constant([])),
    })
    .map(({ name, labels, annotations, version, tenancy, purposes, configs }) => ({
      metadata: { name, labels, annotations },
      spec: {
        profile,
        tenancy,
        ...(version === undefined ? {} : { kubernetes: { version } }),
        ...(purposes ? { purposes } : {}),
        ...(configs ? { clusterConfigs: configs } : {}),
      },
    }));

interface Mistake {
  readonly what: string;
  readonly field: string;
  /** Replaces fields of the spec. */
  readonly values: fc.Arbitrary<Record<string, unknown>>;
}

const version = (text: fc.Arbitrary<string>) => text.map((one) => ({ kubernetes: { version: one } }));

const mistakes = ({ versions }: OfferedVersions): readonly Mistake[] => [
  {
    what: 'a version that is not offered',
    field: 'spec.kubernetes.version: ',
    values: version(
      fc
        .tuple(fc.constantFrom(...versions), fc.integer({ min: 20, max: 99 }))
        .map(([one, patch]) => one.replace(/\d+$/, `${patch}`)),
    ),
  },
  {
    what: 'a version that is none',
    field: 'spec.kubernetes.version: ',
    values: version(
      fc.oneof(
        fc.constantFrom('latest', '1.99', 'v', '1.35.4-rc.1', '1.35.x', ' ', '\u{1F680}', 'toString', '1.35.4\n'),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }).filter((text) => !versions.includes(text)),
      ),
    ),
  },
  {
    what: 'configs that there are not',
    field: 'spec.clusterConfigs[0]: ',
    values: fc
      .array(fc.record({ name: dnsLabel(8) }), { minLength: 1, maxLength: 3 })
      .map((all) => ({ clusterConfigs: all })),
  },
];

/** A Cluster that the API server accepts and the provider must reject. */
export const invalidCluster = (offer: OfferedVersions): fc.Arbitrary<InvalidValue<RawCluster>> =>
  fc.oneof(
    ...mistakes(offer).map(({ what, field, values }) =>
      fc
        .tuple(anyCluster(offer), values)
        .map(([{ metadata, spec }, wrong]) => ({ what, field, value: { metadata, spec: { ...spec, ...wrong } } })),
    ),
  );
