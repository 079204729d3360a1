import type { Addressing } from './addressing.ts';
import type { FailureDomains, InFailureDomain } from './capabilities/failure-domains.ts';
import type { HostContext, HostInventory } from './capabilities/hosts.ts';
import type { OrphanCapability, OrphanContext, OrphanRemovalContext } from './capabilities/orphans.ts';
import type { RepairCapability, RepairContext } from './capabilities/repair.ts';
import type { PlatformContext, StepContext } from './contexts.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { ObserveAllContext } from './observation.ts';
import type { Platform, PlatformSpec } from './platform.ts';
import type { Facts, Step } from './step.ts';

const noFailover = Promise.resolve(undefined);
const defaultAddressing: Addressing = { pool: 'main', endpoint: 'virtual-address' };

/** The part of a context that names the section. */
interface FailureDomainScoped {
  readonly config: unknown;
  readonly site?: string | undefined;
  readonly node?: { readonly site?: string | undefined };
  readonly facts?: Facts;
}

/**
 * Closes over the types of the configuration. Every entry point parses the raw section again, so a step never sees an
 * invalid section, and only its own failure domain of it.
 */
export function definePlatform<C, S = C>(spec: PlatformSpec<C, S>): Platform {
  const parse = (section: unknown): S => spec.config.parse(section);
  // Without failure domains the steps see the section itself.
  const {
    names = () => [],
    at = (section) => section as unknown as C,
    fieldAt = (_, __, field) => field,
  } = spec.sites ?? ({} as Partial<FailureDomains<S, C>>);
  const narrow = (section: unknown, site?: string, facts: Facts = {}): C => at(parse(section), site, facts);
  const typed = <T extends FailureDomainScoped>(context: T) => ({
    ...context,
    config: narrow(context.config, context.node?.site ?? context.site, context.facts),
  });
  const close = <T extends FailureDomainScoped>(step: Step<Omit<T, 'config'> & { config: C }>): Step<T> => ({
    ...step,
    run: (context) => step.run(typed(context)),
  });
  const renamed = (findings: readonly Diagnostic[], { config, site }: FailureDomainScoped): readonly Diagnostic[] =>
    findings.map((finding) => ({ ...finding, field: fieldAt(parse(config), site, finding.field) }));
  const closeInventory = ({
    uses,
    refuses,
    whyUnusable,
    survey,
    identify,
    ...tasks
  }: HostInventory<C>): HostInventory<unknown> => ({
    uses: (config, labels) => uses(narrow(config), labels),
    refuses: (config, host, node) => refuses(narrow(config), host, node),
    whyUnusable,
    survey,
    identify: (context) => identify(typed(context)),
    inspect: tasks.inspect.map((step) => close<HostContext>(step)),
    reboot: tasks.reboot.map((step) => close<HostContext>(step)),
  });
  const closeMending = ({ mend, recover, cutPower }: RepairCapability<C>): RepairCapability => ({
    mend: mend.map((step) => close<RepairContext>(step)),
    recover: (context) => recover(typed(context)),
    ...(cutPower && { cutPower: (context: StepContext) => cutPower(typed(context)) }),
  });
  const closeOrphans = ({ find, remove }: OrphanCapability<C>): OrphanCapability<unknown> => ({
    find: (context: OrphanContext) => find(typed(context)),
    remove: remove.map((step) => close<OrphanRemovalContext>(step)),
  });
  return {
    name: spec.name,
    config: spec.config,
    sites: {
      names: (section) => names(parse(section)),
      at: narrow,
      fieldAt: (section, site, field) => fieldAt(parse(section), site, field),
    },
    credentialsRef: (section, site, facts) => spec.credentialsRef(narrow(section, site, facts)),
    sizes: (section) => spec.sizes(parse(section)),
    hosts: (section) => spec.hosts(parse(section)),
    addressing: (section) => spec.addressing?.(parse(section)) ?? defaultAddressing,
    alwaysNeedsPool: spec.addressing === undefined,
    check: async (context) => renamed(await spec.check(typed(context)), context),
    foresee: async (context) => renamed((await spec.foresee?.(typed(context))) ?? [], context),
    provision: spec.provision.map((step) => close<StepContext>(step)),
    settle: (spec.settle ?? []).map((step) => close<StepContext>(step)),
    release: spec.release.map((step) => close<StepContext>(step)),
    ...(spec.lostWhen && { lostWhen: spec.lostWhen }),
    ...(spec.unproven && { unproven: spec.unproven }),
    observe: (context) => spec.observe(typed(context)),
    preview: async (context) => (await spec.preview?.(typed(context))) ?? [],
    hardware: (context) => spec.hardware?.(typed(context)),
    previewShared: async (context) => (await spec.previewShared?.(typed(context))) ?? [],
    ...(spec.reservedMac && { reservedMac: spec.reservedMac }),
    ...(spec.inventory && { inventory: closeInventory(spec.inventory) }),
    ...(spec.mending && { mending: closeMending(spec.mending) }),
    ...(spec.orphans && { orphans: closeOrphans(spec.orphans) }),
    ...(spec.glance && { glance: async (context: ObserveAllContext) => (await spec.glance?.(typed(context))) ?? [] }),
    ...(spec.listen && {
      listen: (context: PlatformContext & InFailureDomain, listener: () => void) =>
        spec.listen?.(typed(context), listener) ?? (() => {}),
    }),
    ...(spec.tidy && { tidy: async (context) => (await spec.tidy?.(typed(context))) ?? [] }),
    ...(spec.leadEndpoint && { leadEndpoint: (context) => spec.leadEndpoint?.(typed(context)) ?? noFailover }),
  };
}
