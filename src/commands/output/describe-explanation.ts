import { toPrintable } from '../../lib/text.ts';
import type { ExplanationJson, FindingJson, ObjectJson } from '../../status/explain/explanation.ts';
import { describeAge } from './ages.ts';

/** What an object waits for, as one paragraph: its state, the innermost cause, and what to do. */
export function describeExplanation(explanation: ExplanationJson, now: Date): string {
  const { object, is, state, since, findings, nextStep, guide } = explanation;
  const age = since === undefined ? '' : ` (for ${describeAge(since, now)})`;
  const cause = findings.at(-1);
  const sentences = [
    `${formatObject(object)} is ${is}.`,
    `It is ${state}${age}.`,
    ...describeChain(object, findings),
    ...(cause ? describeCause(cause, now) : []),
    `What to do: ${nextStep}`,
    ...(guide === undefined ? [] : [`See ${guide}.`]),
  ];
  return toPrintable(sentences.join(' '));
}

export const formatObject = ({ kind, namespace, name }: ObjectJson): string =>
  `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;

/** The other objects between it and the cause. */
function describeChain(object: ObjectJson, findings: readonly FindingJson[]): string[] {
  const names = [...new Set([object, ...findings.map((finding) => finding.object)].map(formatObject))].slice(1);
  return names.length === 0 ? [] : [`It waits for ${names.join(', which waits for ')}.`];
}

function describeCause({ condition, reason, message, since, step }: FindingJson, now: Date): string[] {
  const age = step || since === undefined ? '' : `, for ${describeAge(since, now)}`;
  const text = endSentence(message.trim() || 'It has no message.');
  return [
    ...(step ? [describeStep(step, now)] : []),
    condition === undefined ? text : `The condition ${condition} (${reason}${age}) says: ${text}`,
  ];
}

function describeStep({ name, plan, since, failures, deadlineMinutes }: NonNullable<FindingJson['step']>, now: Date) {
  const tries = failures > 0 ? `, and has failed ${failures === 1 ? 'once' : `${failures} times in a row`}` : '';
  const limit =
    deadlineMinutes === undefined ? '' : `; after ${deadlineMinutes} minutes there it is reported as overdue`;
  return `It has been in the step ${name} of its ${plan} for ${describeAge(since, now)}${tries}${limit}.`;
}

const endSentence = (text: string): string => (/[.!?\u2026]$/.test(text) ? text : `${text}.`);
