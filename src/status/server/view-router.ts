import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { type ClusterHealth, clusterHealths } from '../api-types.ts';
import { buildClusterPage } from '../views/cluster-rows.ts';
import { buildClusterJson, findOwnCluster } from '../views/cluster-view.ts';
import { buildFleetJson } from '../views/fleet-view.ts';
import { buildMachineJson, findOwnMachine } from '../views/machine-view.ts';
import type { StatusSources } from '../views/status-sources.ts';
import type { ChangeSignal } from './change-signal.ts';
import type { EventReader } from './event-reader.ts';
import type { FleetMeasurements } from './fleet-measurements.ts';

/** A path of the API that cannot be served; the message names the part and the remedy. */
export class InvalidViewError extends Error {}

/** Builds the JSON of a view; undefined: its object does not exist. */
export type ViewBuilder = () => Promise<object | undefined>;

/** A view with a name that is the same for every way to ask for it. */
export interface View {
  readonly key: string;
  readonly build: ViewBuilder;
}

export interface ViewParts {
  /** Read at each build. */
  sources(): StatusSources;
  readonly events: Pick<EventReader, 'of'>;
  readonly measurements: Pick<FleetMeasurements, 'refresh'>;
  readonly changes: ChangeSignal;
  readonly clock: Clock;
}

const namePattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const maxTextLength = 100;
const maxPage = 100_000;
/** A built view counts for this time at most: Events may have changed, which no cache reports. */
const keepSeconds = 10;
const maxViews = 32;

interface BuiltView {
  readonly version: number;
  readonly until: number;
  readonly text: Promise<string | undefined>;
}

/** Finds the view of a path below `/api/v1`, and builds it once for all who look at it. */
export class ViewRouter {
  readonly #parts: ViewParts;
  readonly #built = new LruMap<string, BuiltView>(maxViews);

  constructor(parts: ViewParts) {
    this.#parts = parts;
  }

  /** `path`: e.g. `clusters/shop/prod` or `clusters?page=2`. Throws {@link InvalidViewError}. */
  find(path: string): View {
    const relative = `/${path.replace(/^[/\\]+/, '')}`;
    if (!URL.canParse(relative, 'http://api')) throw new InvalidViewError('The path is not valid.');
    const { pathname, searchParams } = new URL(relative, 'http://api');
    const [kind, ...names] = pathname.slice(1).split('/');
    for (const name of names)
      if (!namePattern.test(name)) throw new InvalidViewError('A name has characters that no object has.');
    const [first = '', second = ''] = names;
    if (kind === 'fleet' && names.length === 0) return { key: 'fleet', build: async () => this.#fleet() };
    if (kind === 'clusters' && names.length === 0) return this.#clusters(searchParams);
    if (kind === 'clusters' && names.length === 2)
      return { key: `clusters/${first}/${second}`, build: () => this.#cluster(first, second) };
    if (kind === 'machines' && names.length === 1)
      return { key: `machines/${first}`, build: () => this.#machine(first) };
    throw new InvalidViewError('There is no such view. Use fleet, clusters, clusters/NAMESPACE/NAME or machines/NAME.');
  }

  /** The JSON of the view, from the last build if nothing has changed since. */
  async render({ key, build }: View): Promise<string | undefined> {
    const { changes, clock } = this.#parts;
    const known = this.#built.get(key);
    if (known && known.version === changes.version && clock.monotonic() < known.until) return await known.text;
    const text = build().then((view) => view && JSON.stringify(view));
    this.#built.set(key, { version: changes.version, until: clock.monotonic() + keepSeconds * 1000, text });
    // A failure is not kept.
    text.catch(() => this.#built.delete(key));
    return await text;
  }

  #fleet(): object {
    this.#parts.measurements.refresh();
    return buildFleetJson(this.#parts.sources());
  }

  #clusters(query: URLSearchParams): View {
    const text = query.get('text') ?? '';
    const health = query.get('health') ?? '';
    const page = query.get('page') ?? '1';
    if (text.length > maxTextLength) throw new InvalidViewError(`text has more than ${maxTextLength} characters.`);
    if (health !== '' && !isHealth(health))
      throw new InvalidViewError(`health is unknown. Use one of ${clusterHealths.join(', ')}.`);
    if (!/^[1-9]\d{0,5}$/.test(page) || Number(page) > maxPage)
      throw new InvalidViewError(`page is not valid. Use a number from 1 to ${maxPage}.`);
    const filter = { text, health: isHealth(health) ? health : undefined, page: Number(page) };
    return {
      key: JSON.stringify(filter),
      build: async () => buildClusterPage(this.#parts.sources(), filter),
    };
  }

  async #cluster(namespace: string, name: string): Promise<object | undefined> {
    const { sources, events } = this.#parts;
    const cluster = findOwnCluster(sources(), namespace, name);
    if (!cluster) return undefined;
    const found = await events.of(cluster);
    return buildClusterJson(sources(), findOwnCluster(sources(), namespace, name) ?? cluster, found);
  }

  async #machine(name: string): Promise<object | undefined> {
    const { sources, events } = this.#parts;
    const machine = findOwnMachine(sources(), name);
    if (!machine) return undefined;
    const found = await events.of(machine);
    return buildMachineJson(sources(), findOwnMachine(sources(), name) ?? machine, found);
  }
}

const isHealth = (text: string): text is ClusterHealth => (clusterHealths as readonly string[]).includes(text);
