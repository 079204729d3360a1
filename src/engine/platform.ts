import type { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Secret, Secrets } from '../lib/secret.ts';

/** What a step learned: ids, names and addresses. Saved in the Machine's status, so never a secret. */
export type Facts = Readonly<Record<string, string | number | boolean>>;

/**
 * What a step says when it returns. `done`: its effect is there. `wait`: not yet; run me again after `seconds`.
 * `fail`: somebody has to change something; `message` is a sentence that says what. A thrown error means "try again".
 */
export type Outcome =
  | { readonly kind: 'done'; readonly facts?: Facts }
  | { readonly kind: 'wait'; readonly seconds: number; readonly message: string; readonly facts?: Facts }
  | { readonly kind: 'fail'; readonly reason: string; readonly message: string };

export const done = (facts?: Facts): Outcome => (facts ? { kind: 'done', facts } : { kind: 'done' });
export const wait = (seconds: number, message: string, facts?: Facts): Outcome =>
  facts ? { kind: 'wait', seconds, message, facts } : { kind: 'wait', seconds, message };
export const fail = (reason: string, message: string): Outcome => ({ kind: 'fail', reason, message });

/**
 * One effect, named by the state it reaches. It looks before it acts, may run any number of times, and never sleeps.
 */
export interface Step<Context> {
  /** kebab-case; stored in status and therefore part of our API. */
  readonly name: string;
  /** Earlier names of this step, so that a rename keeps its place. */
  readonly formerly?: readonly string[];
  /** It can destroy data: never run again once the machine has joined a cluster. */
  readonly erases?: boolean;
  /** After so many minutes in this step the Machine says that it is overdue. It is still tried. */
  readonly deadlineMinutes?: number;
  run(context: Context): Promise<Outcome>;
}

/** Our mark on every outside object. Nothing that carries another mark, or none, is ever changed or deleted. */
export interface Owner {
  /** UID of the platform cluster's `kube-system` namespace. */
  readonly installation: string;
  /** `--provider-name`. */
  readonly provider: string;
  /** Name of the Machine. */
  readonly machine: string;
}

/** The node that a step works for, as far as a platform may know it. */
export interface NodeSpec {
  /** Name of the Machine; also the node's host name. At most 63 characters of `[a-z0-9-]`. */
  readonly name: string;
  readonly role: 'controlplane' | 'worker';
  /** Worker pool, or `control-plane`. */
  readonly pool: string;
  /** One of the sizes of the platform's section. */
  readonly size: string;
  readonly cluster: { readonly namespace: string; readonly name: string };
  readonly talos: { readonly version: string; readonly schematic: Schematic; readonly factoryUrl: string };
  /** Free-form metadata handed down for people: shown in descriptions, never interpreted. */
  readonly labels: Readonly<Record<string, string>>;
}

/** An image factory schematic: what is baked into the image. Order of extensions and arguments matters for its id. */
export interface Schematic {
  readonly extensions: readonly string[];
  readonly kernelArguments: readonly string[];
}

/** What the platform found or decided about the hardware; the machine configuration is rendered from it. */
export interface NodeHardware {
  /** Device to install to, e.g. `/dev/vda`. */
  readonly installDisk: string;
  /** Platform part of the installer image: `nocloud` or `metal`. It must equal that of the boot image. */
  readonly imagePlatform: 'nocloud' | 'metal';
  /** The first is the node's own network. */
  readonly links: readonly NodeLink[];
  /** `spec.providerID` of the Kubernetes Node. */
  readonly providerId: string;
}

export interface NodeLink {
  /** Lower-case, colon-separated. */
  readonly mac: string;
  /** Addresses with prefix length, e.g. `192.168.10.21/24`. */
  readonly addresses: readonly string[];
  readonly gateway?: string;
  /** The gateway lies outside the prefix and is reached on-link (bare metal with a /32). */
  readonly onLinkGateway?: boolean;
  readonly mtu?: number;
}

/** Durable, exclusive claims on the addresses of `network.addressPool`. */
export interface Addresses {
  /** The address this machine holds, claimed now if it holds none. With prefix length and gateway. */
  claim(): Promise<{ address: string; prefix: number; gateway: string }>;
  /** Gives it back. Success when there is none. */
  release(): Promise<void>;
}

/** Something held open between steps: a socket, a pool, a cache. */
export interface Closable {
  close(): void | Promise<void>;
}

/** One open connection for each key, shared by all steps of the process and closed with it. */
export interface Connections {
  /** Ends when all of them have to. What goes on beside the steps goes on under it. */
  readonly signal: AbortSignal;
  get<T extends Closable>(key: string, open: () => T): T;
}

/** Everything a step may know. */
export interface StepContext<C = unknown> {
  /** The platform's section of the ProviderConfig, parsed. */
  readonly config: C;
  /** The keys of the Secret that the platform section references. */
  readonly credentials: Secrets;
  readonly owner: Owner;
  readonly node: NodeSpec;
  /** What earlier steps learned. */
  readonly facts: Facts;
  readonly addresses: Addresses;
  readonly connections: Connections;
  /** The node's complete machine configuration for this hardware. Throws a ProviderError when it cannot be made. */
  machineConfig(hardware: NodeHardware): Promise<Secret>;
  readonly log: Log;
  readonly clock: Clock;
  /** Ends every call in time; aborted on shutdown and on lost leadership. */
  readonly signal: AbortSignal;
}

/** What a platform sees of a machine right now. */
export interface Observation {
  readonly exists: boolean;
  readonly powered?: 'on' | 'off';
  /** Something differs from what was made, in words for people. */
  readonly drift?: string;
}

/** One thing that a ProviderConfig gets wrong, or that its platform lacks. */
export interface Finding {
  /** Path below `spec`, e.g. `truenas.pool`. */
  readonly field: string;
  /** UpperCamelCase, stable. */
  readonly reason: string;
  /** A sentence that says what to do. */
  readonly message: string;
}

/** A host that belongs to somebody else, and the field that names it, e.g. `truenas.url`. */
export interface NamedHost {
  readonly field: string;
  /** Name or address, without a port and without brackets. */
  readonly host: string;
}

/** The part of a {@link StepContext} that checks of a whole ProviderConfig get. */
export type CheckContext<C = unknown> = Pick<
  StepContext<C>,
  'config' | 'credentials' | 'connections' | 'log' | 'clock' | 'signal'
>;

/** What a platform has to bring. `C` is its section of the ProviderConfig. */
export interface PlatformSpec<C> {
  /** The key in `ProviderConfig.spec`. */
  readonly name: string;
  readonly config: z.ZodType<C>;
  /** Name of the Secret with the credentials, in the provider's namespace. */
  credentialsRef(config: C): string;
  /** Names that `controlPlane.size` and `workerPools[].size` may use. */
  sizes(config: C): readonly string[];
  /** What the section names beside the nodes: its addresses may not be given to nodes. */
  hosts(config: C): readonly NamedHost[];
  /** Read-only: do the credentials work, do the named pool, network, servers exist? Empty when all is well. */
  check(context: CheckContext<C>): Promise<readonly Finding[]>;
  /** From nothing to a machine that boots Talos with its configuration. */
  readonly provision: readonly Step<StepContext<C>>[];
  /** Back to nothing, from any state in between. Missing is success. */
  readonly release: readonly Step<StepContext<C>>[];
  /** Read-only. */
  observe(context: StepContext<C>): Promise<Observation>;
}

/** A platform with its configuration type closed over, so that platforms of different types share a list. */
export type Platform = PlatformSpec<unknown>;

/**
 * Closes over the type of the configuration: every entry point parses the raw section again, so a step never sees one
 * that its schema would refuse.
 */
export function definePlatform<C>(spec: PlatformSpec<C>): Platform {
  const typed = <T extends { config: unknown }>(context: T) => ({
    ...context,
    config: spec.config.parse(context.config),
  });
  const close = (step: Step<StepContext<C>>): Step<StepContext> => ({
    ...step,
    run: (context) => step.run(typed(context)),
  });
  return {
    name: spec.name,
    config: spec.config,
    credentialsRef: (config) => spec.credentialsRef(spec.config.parse(config)),
    sizes: (config) => spec.sizes(spec.config.parse(config)),
    hosts: (config) => spec.hosts(spec.config.parse(config)),
    check: (context) => spec.check(typed(context)),
    provision: spec.provision.map(close),
    release: spec.release.map(close),
    observe: (context) => spec.observe(typed(context)),
  };
}
