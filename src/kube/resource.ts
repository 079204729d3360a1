/** The metadata fields that this program reads or writes. Times are RFC 3339 strings, as on the wire. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Any Kubernetes object. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** The REST location of a kind. `T` is the type of the object; it exists only at compile time. */
export interface ResourceType<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Lower-case, as in the URL. */
  readonly plural: string;
  readonly namespaced: boolean;
  /**
   * Builds the object from a table row, as printed by `kubectl get`. Lists and watches then transfer a small part of
   * the bytes. Only for cluster-scoped kinds, since a row does not include the namespace.
   */
  readonly fromRow?: (cell: (column: string) => string) => Omit<T, keyof KubeObject>;
  /** Only for the type checker. */
  readonly object?: T;
}

/** Identifies one object of a kind. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectKey {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** The `apiVersion` of an object: `group/version`, or `version` alone for the core group. */
export const apiVersionOf = (type: ResourceType): string =>
  type.group ? `${type.group}/${type.version}` : type.version;

export const objectKeyOf = (object: KubeObject): ObjectKey =>
  object.metadata.namespace
    ? { namespace: object.metadata.namespace, name: object.metadata.name }
    : { name: object.metadata.name };

/** `namespace/name` or `name`: the key in maps, queues and logs. */
export const formatObjectKey = (key: ObjectKey): string => (key.namespace ? `${key.namespace}/${key.name}` : key.name);

export const parseObjectKey = (text: string): ObjectKey => {
  const slash = text.indexOf('/');
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
};
