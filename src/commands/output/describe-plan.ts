import type { ClusterPlan, PlannedMachine, UnassignedHosts } from '../../controllers/plan/plan-cluster.ts';
import { toPrintable } from '../../lib/text.ts';

/** A plan as text for a terminal: each machine with the effects on its resources, then the unassigned Hosts. */
export function describePlan({ machines, surplus, shared, left, endpoint, isMarked }: ClusterPlan): string {
  const parts = [...machines.map(describeMachine), ...surplus.map((name) => `${name} would be drained and deleted`)];
  if (endpoint !== undefined) parts.push(`Endpoint of the API server: ${endpoint}`);
  if (shared.length > 0)
    parts.push(
      ['Shared by the machines:', ...shared.map(({ effect, subject }) => formatEffect(effect, subject))].join('\n'),
    );
  if (left.length > 0) parts.push(['Unassigned Hosts:', ...left.flatMap(describeUnassignedHosts)].join('\n'));
  const all = [...machines.flatMap(({ lines }) => lines), ...shared];
  const erased = all.filter(({ effect }) => effect === 'erases').length;
  const unknown = all.filter(({ effect }) => effect === 'unknown').length;
  const end = [
    `${machines.length} ${machines.length === 1 ? 'machine' : 'machines'}`,
    ...(surplus.length > 0 ? [`${surplus.length} to be deleted`] : []),
    `${erased} ${erased === 1 ? 'disk' : 'disks'} to be erased`,
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
  ];
  const unmarked = isMarked ? '' : ' Ellipses and zeros replace values that depend on the platform cluster.';
  return [...parts, `${end.join(', ')}. Nothing was changed.${unmarked}`].join('\n\n');
}

/** The configurations of a plan, each with the name of its machine. */
export const describeMachineConfigs = ({ machines }: ClusterPlan): string[] =>
  machines.flatMap(({ host: assignment, document }) =>
    document === undefined ? [] : [`# ${assignment.slot.name}\n${document.trim()}`],
  );

function describeMachine({ host: assignment, error, lines }: PlannedMachine): string {
  const { slot, machine, host, isHeld } = assignment;
  const holds = host && `${isHeld ? 'holds' : 'would claim'} Host ${host.name} (server ${host.spec.serverID})`;
  const state = holds ?? (machine ? 'exists' : 'would be created');
  return [
    `${slot.name} (${slot.role}, size ${slot.size}) ${error === undefined ? state : 'would wait'}`,
    ...(error === undefined ? [] : [formatEffect('blocked', error)]),
    ...lines.map(({ effect, subject }) => formatEffect(effect, subject)),
  ].join('\n');
}

const describeUnassignedHosts = ({ reason, names, refused }: UnassignedHosts): string[] => [
  `  ${names.length} ${reason}: ${names.join(', ')}`,
  ...refused.map((what) => `  ${formatEffect('blocked', what)}`),
];

/** A line with an effect and its subject. */
export const formatEffect = (effect: string, what: string): string => `  ${effect.padEnd(8)}  ${toPrintable(what)}`;
