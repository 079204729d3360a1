import type { KubeObject, ObjectMeta } from '../resource.ts';

/** Any subset of an object's fields, at any depth. A list is always complete. */
export type DeepPartial<T> = T extends readonly (infer _)[]
  ? T
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T;

/**
 * The body of a server-side apply: the object's name and exactly the fields that this field manager wants to own. The
 * client adds `apiVersion` and `kind` from the type.
 */
export type ApplyConfiguration<T extends KubeObject> = DeepPartial<Omit<T, 'metadata'>> & {
  metadata: Pick<ObjectMeta, 'name'> & DeepPartial<ObjectMeta>;
};

/** Selects objects of a kind. Without a namespace: the objects of all namespaces. */
export interface ListOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** A list ends with so many objects, although there are more. Default: all. A watch has no limit. */
  readonly maxItems?: number | undefined;
}

export interface ObjectList<T> {
  readonly items: T[];
  /** The resource version at which the watch begins, so that it misses no event. */
  readonly resourceVersion: string;
}

export interface WatchOptions extends ListOptions {
  readonly resourceVersion: string;
  /** The API server ends the watch after this time. The client ends it a little later in any case. */
  readonly timeoutSeconds: number;
  /** The watch ends after this time without an event. */
  readonly idleSeconds: number;
  /** Whether the API server sends a bookmark about once a minute; default: yes. */
  readonly bookmarks?: boolean | undefined;
}

export interface RemoveOptions {
  /** Deletes only the object with this UID, never a new object of the same name. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
}

/** The attributes of a SelfSubjectAccessReview: a verb on a resource, or on a non-resource path. */
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
