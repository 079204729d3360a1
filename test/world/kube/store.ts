/** An object as it lies in the store and travels on the wire. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: ApiMeta;
  [field: string]: unknown;
}

export interface ApiMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: {
    apiVersion: string;
    kind: string;
    name: string;
    uid: string;
    controller?: boolean;
    blockOwnerDeletion?: boolean;
  }[];
  managedFields?: unknown[];
}

/** Names an object, or with no name a kind, from inside the process. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface StoreChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly object: ApiObject;
  readonly before: ApiObject | undefined;
}

/** What other rooms may do with the "etcd" from inside the process: no authentication, no admission, no schema. */
export interface KubeStore {
  readonly revision: number;
  /** False: every request is answered as by an API server whose etcd has no leader (500, /readyz 500). */
  available: boolean;
  /** Creates or replaces the whole object, status included; uid and resourceVersion are filled in. */
  put(object: Omit<ApiObject, 'metadata'> & { metadata: ApiMeta }): ApiObject;
  get(ref: ObjectRef): ApiObject | undefined;
  list(ref: { readonly apiVersion: string; readonly kind: string; readonly namespace?: string }): ApiObject[];
  /** Removes at once, whatever the finalizers say. False: was not there. */
  remove(ref: ObjectRef): boolean;
  onChange(listener: (change: StoreChange) => void): () => void;
  /** Forgets the history up to `revision` (default: all of it), so that older watches and pages get 410. */
  compact(revision?: number): void;
}

export function createKubeStore(): KubeStore {
  throw new Error('not there yet');
}
