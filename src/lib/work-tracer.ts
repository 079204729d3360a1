/** Whose creation is traced. */
export interface TracedCluster {
  readonly uid?: string | undefined;
  readonly namespace: string;
  readonly name: string;
}

/** A step of a Machine as a part of the creation of its Cluster. */
export interface TracedStep {
  readonly cluster: TracedCluster;
  readonly machine: string;
  readonly platform: string;
  readonly plan: string;
  readonly step: string;
  /** Since when it is the current one, if it was recorded. */
  readonly since?: string | undefined;
}

/** Follows the creation of Clusters. Calls to other systems within `run` belong to what runs. It must not throw. */
export interface WorkTracer {
  /** An action of the controller of the Cluster. */
  action<T>(cluster: TracedCluster, name: string, run: () => Promise<T>): Promise<T>;
  /** One run of a step, which may need several. */
  step<T extends { readonly kind: string }>(step: TracedStep, run: () => Promise<T>): Promise<T>;
}

/** Without traces. */
export const noTracer: WorkTracer = {
  action: async (_, __, run) => await run(),
  step: async (_, run) => await run(),
};
