import type { KubeObject, ObjectMeta } from '../resource.ts';

/** Any subset of an object's fields, at any depth. Lists are whole. */
export type DeepPartial<T> = T extends readonly (infer _)[]
  ? T
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T;

/**
 * What an apply sends: the object's name and the fields that this field manager wants to own, and no others.
 * `apiVersion` and `kind` are added from the type.
 */
export type ApplyConfiguration<T extends KubeObject> = DeepPartial<Omit<T, 'metadata'>> & {
  metadata: Pick<ObjectMeta, 'name'> & DeepPartial<ObjectMeta>;
};

/** Which objects of a kind. Without a namespace: those of all namespaces. */
export interface ListOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ObjectList<T> {
  readonly items: T[];
  /** Where a watch has to begin so that nothing is missed. */
  readonly resourceVersion: string;
}

export interface WatchOptions extends ListOptions {
  readonly resourceVersion: string;
  /** The server is asked to end the watch after this time, and it is cut a little later in any case. */
  readonly timeoutSeconds: number;
  /** Silence after which the watch is ended. */
  readonly idleSeconds: number;
  /** Whether the server is to say about each minute how far it is; default: yes. */
  readonly bookmarks?: boolean | undefined;
}

export interface RemoveOptions {
  /** Only the object with this UID: never a namesake made since. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
}

/** What a SelfSubjectAccessReview asks for: a verb on a resource, or on a path outside of the API. */
export type AccessAttributes =
  | {
      readonly verb: string;
      readonly group?: string;
      readonly resource: string;
      readonly subresource?: string;
      readonly namespace?: string;
      readonly name?: string;
    }
  | { readonly verb: string; readonly path: string };
