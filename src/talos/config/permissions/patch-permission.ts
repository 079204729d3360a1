/** What the rights of a ClusterConfig's author depend on beside the patch. */
export interface PatchPermissionContext {
  /** Hosts of registries that images of the system come from, beside those that every cluster uses. */
  readonly systemRegistries: readonly string[];
  /** Prefix of the labels that the provider sets. */
  readonly labelPrefix: string;
}

/** `such` is the end of the sentence "… must be …". */
export interface ValueCheck {
  readonly such: string;
  readonly holds: (value: unknown, context: PatchPermissionContext) => boolean;
}

/** One thing that the author of a ClusterConfig may set by a patch. Everything else is refused. */
export interface PatchPermission {
  /** Keys from the root with dots between them; `*` is any key of a map, `[]` each element of a list. */
  readonly path: string;
  /** For people: the reason why a cluster owner may. */
  readonly because: string;
  /** Which keys `*` stands for. Left out: all. */
  readonly key?: (key: string, context: PatchPermissionContext) => boolean;
  /** What the whole value has to be. Left out: anything that Talos takes. */
  readonly value?: ValueCheck;
  /** Whether `$patch: delete` may take it away: only what a patch of the platform team does not protect a cluster with. */
  readonly removable?: boolean;
}

/** The rights in one kind of document. */
export interface DocumentKindPermissions {
  readonly rights: readonly PatchPermission[];
  /** What a document of the kind has to be as a whole, e.g. by its name. */
  readonly whole?: { readonly path: string; readonly check: ValueCheck };
}

export const allow = (
  path: string,
  because: string,
  more: Omit<PatchPermission, 'path' | 'because'> = {},
): PatchPermission => ({
  path,
  because,
  ...more,
});

/** The same rights below another path. */
export const allowBelow = (prefix: string, rights: readonly PatchPermission[]): readonly PatchPermission[] =>
  rights.map((one) => ({ ...one, path: `${prefix}.${one.path}` }));
