import type { Environment } from '@marcbachmann/cel-js';
import { Optional } from '@marcbachmann/cel-js';
import { canonicalJson, isObject } from '../json.ts';
import type { ObjectSchema, ValidationRule } from '../schema/schema.ts';
import { newCelEnvironment } from './library.ts';
import { type CelType, declareType } from './types.ts';

/** One compiled rule. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly usesOldSelf: boolean;
  /** The compile error of the rule. */
  readonly problem: string | undefined;
  readonly messageProblem: string | undefined;
  readonly ast: unknown;
  /** Throws when the evaluation fails. `old` is undefined without an old value. */
  evaluate(self: unknown, old: unknown): unknown;
  /** The computed message; undefined without a message expression or when it fails. */
  message(self: unknown, old: unknown): string | undefined;
}

const compiled = new WeakMap<ObjectSchema, readonly CompiledRule[]>();
/** Keyed by the schema's content: an update of a definition creates an equal schema as another object. */
const byContent = new Map<string, readonly CompiledRule[]>();

/** The rules of one schema node. Compiled once for each schema object. */
export function compiledRulesOf(schema: ObjectSchema, isResource: boolean): readonly CompiledRule[] {
  const rules = schema['x-kubernetes-validations'];
  if (!rules || rules.length === 0) return [];
  const known = compiled.get(schema);
  if (known) return known;
  const content = `${isResource} ${canonicalJson(schema)}`;
  const made = byContent.get(content) ?? compileAll(schema, rules, isResource);
  byContent.set(content, made);
  compiled.set(schema, made);
  return made;
}

function compileAll(schema: ObjectSchema, rules: readonly ValidationRule[], isResource: boolean): CompiledRule[] {
  const environment = newCelEnvironment();
  const type = declareType(environment, schema, isResource);
  if (!type) return rules.map((rule) => brokenRule(rule, 'rules cannot see a value of this schema'));
  environment.registerVariable('self', type.name);
  const withOptional = environment.clone().registerVariable('oldSelf', `optional<${type.name}>`);
  const withOld = environment.clone().registerVariable('oldSelf', type.name);
  return rules.map((rule) => compile(rule, type, rule.optionalOldSelf ? withOptional : withOld));
}

const brokenRule = (rule: ValidationRule, problem: string): CompiledRule => ({
  rule,
  usesOldSelf: false,
  problem,
  messageProblem: undefined,
  ast: undefined,
  evaluate: () => false,
  message: () => undefined,
});

function compile(rule: ValidationRule, type: CelType, environment: Environment): CompiledRule {
  const checked = check(environment, rule.rule, 'bool');
  if (typeof checked === 'string') return brokenRule(rule, checked);
  const { program, ast } = checked;
  const text = rule.messageExpression ? check(environment, rule.messageExpression, 'string') : undefined;
  const isOptional = rule.optionalOldSelf === true;
  const variables = (self: unknown, old: unknown) => {
    const before = old === undefined || old === null ? undefined : type.toValue(old);
    const oldSelf = isOptional ? (before === undefined ? Optional.none() : Optional.of(before)) : before;
    return { self: type.toValue(self), ...(oldSelf === undefined ? {} : { oldSelf }) };
  };
  return {
    rule,
    usesOldSelf: mentions(ast, 'oldSelf'),
    problem: undefined,
    messageProblem: typeof text === 'string' ? text : undefined,
    ast,
    evaluate: (self, old) => program(variables(self, old)),
    message(self, old) {
      if (text === undefined || typeof text === 'string') return undefined;
      try {
        const words = String(text.program(variables(self, old))).trim();
        return words === '' || words.includes('\n') ? undefined : words;
      } catch {
        // When the message expression fails, the fixed message is used; the API server logs and does the same.
        return undefined;
      }
    },
  };
}

/**
 * An expression over values without declared types, e.g. of an admission policy. Throws when it does not parse or
 * fails.
 */
export function compileExpression(
  expression: string,
  names: readonly string[],
): (variables: Record<string, unknown>) => boolean {
  const environment = newCelEnvironment();
  for (const name of names) environment.registerVariable(name, 'dyn');
  const program = environment.parse(expression);
  return (variables) => program(variables) === true;
}

interface Checked {
  readonly program: (variables: Record<string, unknown>) => unknown;
  readonly ast: unknown;
}

/** Parses and type-checks an expression; returns a string with the error. */
function check(environment: Environment, expression: string, wanted: 'bool' | 'string'): Checked | string {
  try {
    const program = environment.parse(expression);
    const strict = environment.check(withFieldChecks(expression, program.ast));
    if (!strict.valid) return failure(strict.error);
    const type = String(strict.type);
    if (type !== wanted && type !== 'dyn') {
      return wanted === 'bool'
        ? 'cel expression must evaluate to a bool'
        : 'messageExpression must evaluate to a string';
    }
    return { program, ast: program.ast };
  } catch (error) {
    return failure(error);
  }
}

function failure(error: unknown): string {
  const summary = isObject(error) && typeof error['summary'] === 'string' ? error['summary'] : undefined;
  const words = summary ?? (error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
  const undefinedField = /^No such key: (.+)$/.exec(words)?.[1];
  return `compilation failed: ERROR: <input>: ${undefinedField ? `undefined field '${undefinedField}'` : words}`;
}

/** The expression with `has(a.b)` as a call, so that the type checker checks `a.b`. */
function withFieldChecks(expression: string, ast: unknown): string {
  const starts: number[] = [];
  visitNodes(ast, (node) => {
    if (node['op'] === 'call' && Array.isArray(node['args']) && node['args'][0] === 'has')
      starts.push(Number(node['start']));
  });
  return starts
    .sort((a, b) => b - a)
    .reduce((text, start) => `${text.slice(0, start)}hasFieldOf${text.slice(start + 3)}`, expression);
}

function mentions(ast: unknown, name: string): boolean {
  let found = false;
  visitNodes(ast, (node) => {
    if (node['op'] === 'id' && node['args'] === name) found = true;
  });
  return found;
}

/** Calls `look` for each node of a syntax tree. */
export function visitNodes(ast: unknown, look: (node: Record<string, unknown>) => void): void {
  if (Array.isArray(ast)) for (const part of ast) visitNodes(part, look);
  else if (isObject(ast)) {
    look(ast);
    visitNodes(ast['args'], look);
  }
}
