/** The context of the permissions beside the patch itself. */
export interface PatchPermissionContext {
  /** Hosts of registries for system images, beside those that every cluster uses. */
  readonly systemRegistries: readonly string[];
  /** Prefix of the labels that the provider sets. */
  readonly labelPrefix: string;
}

/** `description` completes the sentence "… must be …". */
export interface ValueCheck {
  readonly description: string;
  readonly accepts: (value: unknown, context: PatchPermissionContext) => boolean;
}

/** A field that the author of a ClusterConfig may set by a patch. Every other field is rejected. */
export interface PatchPermission {
  /** Dotted path from the root; `*` is any key of a map, `[]` each element of a list. */
  readonly path: string;
  /** For users: the reason for the permission. */
  readonly reason: string;
  /** The keys that `*` matches. Absent: all. */
  readonly key?: (key: string, context: PatchPermissionContext) => boolean;
  /** The check of the whole value. Absent: any value that Talos accepts. */
  readonly value?: ValueCheck;
  /**
   * Whether `$patch: delete` may remove it: not for a field with which the platform team's patches protect a cluster.
   */
  readonly removable?: boolean;
}

/** The permissions in one kind of document. */
export interface DocumentKindPermissions {
  readonly permissions: readonly PatchPermission[];
  /** A check of the whole document, e.g. of its name. */
  readonly whole?: { readonly path: string; readonly check: ValueCheck };
}

export const allow = (
  path: string,
  reason: string,
  more: Omit<PatchPermission, 'path' | 'reason'> = {},
): PatchPermission => ({
  path,
  reason,
  ...more,
});

/** The same permissions below another path. */
export const allowBelow = (prefix: string, rights: readonly PatchPermission[]): readonly PatchPermission[] =>
  rights.map((one) => ({ ...one, path: `${prefix}.${one.path}` }));
