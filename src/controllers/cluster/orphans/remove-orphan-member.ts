import { Machine } from '../../../api/machine.ts';
import { isMachineName } from '../../../api/names.ts';
import type { Log } from '../../../lib/log.ts';
import { controlPlaneOf } from '../../shared/control-planes/control-plane.ts';
import { etcdRemovalsOf } from '../../shared/control-planes/etcd-removals.ts';
import { queryNode } from '../../shared/control-planes/query-node.ts';
import { readMachineFact } from '../../shared/machine-facts.ts';
import type { Services } from '../../shared/services.ts';
import type { ClusterView } from '../view.ts';
import { findOrphanMember, type OrphanMember } from './find-orphan-member.ts';
import { orphanObservationsOf } from './orphan-observations.ts';

interface OrphanContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * Removes one member of etcd that belongs to no Machine, when it has been seen for long enough. True: etcd has none. No
 * member is removed while a control plane leaves etcd.
 */
export async function removeOrphanMember(
  services: Services,
  view: ClusterView,
  context: OrphanContext,
): Promise<boolean> {
  const { signal } = context;
  return await etcdRemovalsOf(services).run(view.ref.uid, () => removeIfDue(services, view, context), signal);
}

async function removeIfDue(services: Services, view: ClusterView, { signal, log }: OrphanContext): Promise<boolean> {
  const found = await lookForOrphan(services, view, signal);
  const observations = orphanObservationsOf(services, 'members');
  const due = observations.record(view.ref.uid, found.kind === 'found' ? [found.member.id] : []);
  if (found.kind === 'unknown') log.debug({ why: found.message }, 'whether etcd has an orphan cannot be told');
  if (found.kind !== 'found') return found.kind === 'none';
  const { member, reporter } = found;
  if (due.length === 0 || (await services.kube.find(Machine, { name: member.name }, signal))) return false;
  const machine = view.machines.find(({ metadata }) => metadata.name === reporter);
  if (!machine) return false;
  const target = controlPlaneOf(services, view.ref, machine, signal);
  const failure = await queryNode(target, (node) => node.removeEtcdMember(member.id, { signal }));
  if (failure) {
    log.warn({ member: member.name, why: failure.message }, 'an orphan member of etcd was not removed');
    return false;
  }
  log.info({ member: member.name, id: member.id }, 'an orphan member of etcd was removed');
  const message = `The member ${member.name} of etcd, which belonged to no Machine, was removed.`;
  services.events.record(view.cluster, 'Warning', 'OrphanMemberRemoved', message);
  return false;
}

async function lookForOrphan(services: Services, view: ClusterView, signal: AbortSignal): Promise<OrphanMember> {
  const { machines, ref } = view;
  const controlPlanes = machines.filter(({ spec }) => spec.role === 'controlplane');
  const reports = await Promise.all(
    controlPlanes.map(async (machine) => {
      const target = controlPlaneOf(services, ref, machine, signal);
      if (target.address === '') return [];
      const found = await queryNode(target, async (node) => ({
        kind: 'report' as const,
        report: { machine: machine.metadata.name, ...(await node.etcdHealth(target)) },
      }));
      return found.kind === 'report' ? [found.report] : [];
    }),
  );
  return findOrphanMember({
    reports: reports.flat(),
    controlPlanes: controlPlanes.map(({ metadata }) => metadata.name),
    machines: machines.map(({ metadata }) => metadata.name),
    addresses: machines.flatMap((machine) => readMachineFact(machine, 'address') ?? []),
    isMachineName: (name) => isMachineName(ref, name, view.secrets?.nodePrefix),
  });
}
