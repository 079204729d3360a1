import type { HostSelector } from '../config.ts';

type Labels = Readonly<Record<string, string>>;

/** Why a Host does not match, to follow a count: `without the label disk=nvme`; undefined: it matches. */
export function selectorMismatch({ matchLabels, matchExpressions }: HostSelector, labels: Labels): string | undefined {
  const missing = Object.entries(matchLabels).find(([key, value]) => labels[key] !== value);
  if (missing) return `without the label ${missing[0]}=${missing[1]}`;
  const failing = matchExpressions.find((expression) => !matchesExpression(expression, labels));
  return failing && `not matching ${describeExpression(failing)}`;
}

type LabelExpression = HostSelector['matchExpressions'][number];

function matchesExpression({ key, operator, values }: LabelExpression, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'In':
      return value !== undefined && values.includes(value);
    // As elsewhere in Kubernetes, a missing label counts as not among the values.
    case 'NotIn':
      return value === undefined || !values.includes(value);
  }
}

const describeExpression = ({ key, operator, values }: LabelExpression): string =>
  values.length > 0 ? `${key} ${operator} (${values.join(', ')})` : `${key} ${operator}`;
