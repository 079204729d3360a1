/** What the rights of a ClusterConfig's author depend on beside the patch. */
export interface RightsContext {
  /** Hosts of registries that images of the system come from, beside those that every cluster uses. */
  readonly systemRegistries: readonly string[];
  /** Prefix of the labels that the provider sets. */
  readonly labelPrefix: string;
}

/** `such` is the end of the sentence "… must be …". */
export interface Check {
  readonly such: string;
  readonly holds: (value: unknown, context: RightsContext) => boolean;
}

/** One thing that the author of a ClusterConfig may set by a patch. Everything else is refused. */
export interface Right {
  /** Keys from the root with dots between them; `*` is any key of a map, `[]` each element of a list. */
  readonly path: string;
  /** For people: the reason why a cluster owner may. */
  readonly because: string;
  /** Which keys `*` stands for. Left out: all. */
  readonly key?: (key: string, context: RightsContext) => boolean;
  /** What the whole value has to be. Left out: anything that Talos takes. */
  readonly value?: Check;
  /** Whether `$patch: delete` may take it away: only what a patch of the platform team does not protect a cluster with. */
  readonly removable?: boolean;
}

/** The rights in one kind of document. */
export interface KindRights {
  readonly rights: readonly Right[];
  /** What a document of the kind has to be as a whole, e.g. by its name. */
  readonly whole?: { readonly path: string; readonly check: Check };
}

export const right = (path: string, because: string, more: Omit<Right, 'path' | 'because'> = {}): Right => ({
  path,
  because,
  ...more,
});

/** The same rights below another path. */
export const below = (prefix: string, rights: readonly Right[]): readonly Right[] =>
  rights.map((one) => ({ ...one, path: `${prefix}.${one.path}` }));
