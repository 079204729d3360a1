/** The JSON form of one field of a message. */
export interface ProtobufField {
  readonly name: string;
  readonly kind: 'text' | 'integer' | 'flag' | 'bytes' | 'time' | 'message' | 'map';
  readonly of?: ProtobufMessage | 'text' | 'bytes';
  readonly repeated?: boolean;
}

/** Fields by their numbers in the `generated.proto` of k8s.io/api. */
export type ProtobufMessage = Readonly<Record<number, ProtobufField>>;

const text = (name: string): ProtobufField => ({ name, kind: 'text' });
const texts = (name: string): ProtobufField => ({ name, kind: 'text', repeated: true });
const integer = (name: string): ProtobufField => ({ name, kind: 'integer' });
const flag = (name: string): ProtobufField => ({ name, kind: 'flag' });
const time = (name: string): ProtobufField => ({ name, kind: 'time' });
const mapOf = (name: string, of: 'text' | 'bytes' = 'text'): ProtobufField => ({ name, kind: 'map', of });
const one = (name: string, of: ProtobufMessage): ProtobufField => ({ name, kind: 'message', of });
const many = (name: string, of: ProtobufMessage): ProtobufField => ({ name, kind: 'message', of, repeated: true });

const ownerReference: ProtobufMessage = {
  1: text('kind'),
  3: text('name'),
  4: text('uid'),
  5: text('apiVersion'),
  6: flag('controller'),
  7: flag('blockOwnerDeletion'),
};

const metadata = one('metadata', {
  1: text('name'),
  2: text('generateName'),
  3: text('namespace'),
  5: text('uid'),
  6: text('resourceVersion'),
  7: integer('generation'),
  8: time('creationTimestamp'),
  9: time('deletionTimestamp'),
  10: integer('deletionGracePeriodSeconds'),
  11: mapOf('labels'),
  12: mapOf('annotations'),
  13: many('ownerReferences', ownerReference),
  14: texts('finalizers'),
});

const objectReference: ProtobufMessage = {
  1: text('kind'),
  2: text('namespace'),
  3: text('name'),
  4: text('uid'),
  5: text('apiVersion'),
  6: text('resourceVersion'),
  7: text('fieldPath'),
};

const resourceAttributes = one('resourceAttributes', {
  1: text('namespace'),
  2: text('verb'),
  3: text('group'),
  4: text('version'),
  5: text('resource'),
  6: text('subresource'),
  7: text('name'),
});
const nonResourceAttributes = one('nonResourceAttributes', { 1: text('path'), 2: text('verb') });
const boundObject = one('boundObjectRef', { 1: text('kind'), 2: text('apiVersion'), 3: text('name'), 4: text('uid') });

/**
 * The kinds that kubectl sends as protobuf here: reviews of its own user, token requests, and objects of `kubectl create`.
 */
export const protobufKinds: Readonly<Record<string, ProtobufMessage>> = {
  'v1/ConfigMap': { 1: metadata, 2: mapOf('data'), 3: mapOf('binaryData', 'bytes'), 4: flag('immutable') },
  'v1/Namespace': { 1: metadata },
  'v1/Secret': {
    1: metadata,
    2: mapOf('data', 'bytes'),
    3: text('type'),
    4: mapOf('stringData'),
    5: flag('immutable'),
  },
  'v1/ServiceAccount': {
    1: metadata,
    2: many('secrets', objectReference),
    3: many('imagePullSecrets', { 1: text('name') }),
    4: flag('automountServiceAccountToken'),
  },
  'authentication.k8s.io/v1/SelfSubjectReview': { 1: metadata },
  'authentication.k8s.io/v1/TokenRequest': {
    1: metadata,
    2: one('spec', { 1: texts('audiences'), 3: boundObject, 4: integer('expirationSeconds') }),
  },
  'authorization.k8s.io/v1/SelfSubjectAccessReview': {
    1: metadata,
    2: one('spec', { 1: resourceAttributes, 2: nonResourceAttributes }),
  },
  'authorization.k8s.io/v1/SelfSubjectRulesReview': { 1: metadata, 2: one('spec', { 1: text('namespace') }) },
};
