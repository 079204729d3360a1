import { documentKinds } from '../../../../src/talos/config/schema/document-kinds.ts';
import { mainDocumentSchema } from '../../../../src/talos/config/schema/main-document-schema.ts';
import type { ObjectValueSchema, ValueSchema } from '../../../../src/talos/config/schema/value-schema.ts';

/**
 * The allowed shape of a value. `any` is free-form (passed on to Kubernetes or containerd unchanged), an object is
 * closed: unlisted keys are unknown. `argument` is the value of an extra argument of a program.
 */
export type ValueShape = ScalarShape | 'any' | ListShape | MapShape | StructShape;

export type ScalarShape = 'text' | 'int' | 'bool' | 'base64' | 'duration' | 'argument';

export interface ListShape {
  readonly list: ValueShape;
}

export interface MapShape {
  readonly map: ValueShape;
}

export interface StructShape {
  /** Talos's name of the type, for decoder errors that contain it. */
  readonly type?: string;
  readonly fields: Readonly<Record<string, ValueShape>>;
}

/** Other scalars are texts to the decoder; their rules are checked later. */
const scalarShapes: Readonly<Record<string, ScalarShape>> = {
  'a whole number, without quotes': 'int',
  'true or false, without quotes': 'bool',
  'a duration like 30s': 'duration',
  'in base64': 'base64',
};

function toShape(schema: ValueSchema, name = ''): ValueShape {
  switch (schema.is) {
    case 'any':
      return 'any';
    case 'scalar':
      return scalarShapes[schema.description] ?? 'text';
    case 'list':
      return { list: toShape(schema.of) };
    case 'map':
      return { map: name === 'extraArgs' ? 'argument' : toShape(schema.of) };
    default:
      return toStruct(schema);
  }
}

const toStruct = ({ keys }: ObjectValueSchema): StructShape => ({
  fields: Object.fromEntries(Object.entries(keys).map(([key, schema]) => [key, toShape(schema, key)])),
});

/**
 * The v1alpha1 document. Its fields and those of all other kinds are in the tables of the product, which
 * `src/talos/config/schema/decoding-peer.test.ts` compares with talosctl field by field.
 */
export const v1alpha1Document: StructShape = withTypes(toStruct(mainDocumentSchema));

function withTypes({ fields }: StructShape): StructShape {
  const named = (key: string, type: string) => ({ [key]: { ...(fields[key] as StructShape), type } });
  return {
    fields: { ...fields, ...named('machine', 'v1alpha1.MachineConfig'), ...named('cluster', 'v1alpha1.ClusterConfig') },
  };
}

/** A kind of document besides v1alpha1. */
export interface SimulatedDocumentKind {
  /** The first Talos minor that supports it (1.x). */
  readonly since: number;
  readonly shape: StructShape;
  /** Refused on workers. */
  readonly controlPlaneOnly: boolean;
  /** Paths in v1alpha1 that must not be set beside it. */
  readonly conflicts: readonly string[];
}

export const simulatedDocumentKinds: Readonly<Record<string, SimulatedDocumentKind>> = Object.fromEntries(
  Object.entries(documentKinds).map(([kind, { since, shape, controlPlaneOnly = false, conflicts = [] }]) => [
    kind,
    { since: Number(since.slice(2)), shape: toStruct(shape), controlPlaneOnly, conflicts },
  ]),
);
