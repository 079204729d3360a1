import type { CosiState } from '../state/resources.ts';

/** States as `talosctl services` shows them. */
export type ServiceState =
  | 'Initialized'
  | 'Preparing'
  | 'Waiting'
  | 'Starting'
  | 'Running'
  | 'Stopping'
  | 'Finished'
  | 'Failed'
  | 'Skipped';

export interface SimulatedService {
  readonly id: string;
  readonly state: ServiceState;
  readonly healthy: boolean | undefined;
  readonly message: string;
  readonly changed: Date;
  readonly events: readonly { readonly message: string; readonly state: ServiceState; readonly at: Date }[];
}

/** The services of one node; a running one is a resource. */
export class SimulatedServices {
  readonly #services = new Map<string, SimulatedService>();
  readonly #resources: CosiState;
  readonly #changed: () => void;

  constructor(resources: CosiState, changed: () => void) {
    this.#resources = resources;
    this.#changed = changed;
  }

  list(): SimulatedService[] {
    return [...this.#services.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  get(id: string): SimulatedService | undefined {
    return this.#services.get(id);
  }

  /** Running, and healthy or without a health check. */
  up(id: string): boolean {
    const service = this.#services.get(id);
    return service?.state === 'Running' && service.healthy !== false;
  }

  set(id: string, state: ServiceState, message: string, healthy?: boolean): void {
    const old = this.#services.get(id);
    if (old?.state === state && old.message === message && old.healthy === healthy) return;
    const now = new Date();
    const events = [...(old?.events ?? []), { message, state, at: now }].slice(-20);
    this.#services.set(id, { id, state, healthy, message, changed: now, events });
    if (state === 'Running') {
      const spec = { running: true, healthy: healthy === true, unknown: healthy === undefined };
      this.#resources.put('runtime', 'Services.v1alpha1.talos.dev', id, spec);
    } else this.#resources.remove('runtime', 'Services.v1alpha1.talos.dev', id);
    this.#changed();
  }

  run(...ids: readonly string[]): void {
    for (const id of ids) this.set(id, 'Running', 'Health check successful', true);
  }

  stopAll(except: readonly string[]): void {
    for (const { id, state } of this.list()) {
      if (!except.includes(id) && state !== 'Finished') this.set(id, 'Finished', 'Service finished successfully');
    }
  }
}

/** Health in the words of the API. */
export const healthOf = (healthy: boolean | undefined, message: string) => ({
  unknown: healthy === undefined,
  healthy: healthy === true,
  lastMessage: healthy === false ? message : '',
});
