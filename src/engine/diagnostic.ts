/** One problem of a ProviderConfig, or one thing that its platform lacks. */
export interface Diagnostic {
  /** Path below `spec`, e.g. `network.prefix`. */
  readonly field: string;
  /** UpperCamelCase, stable. */
  readonly reason: string;
  /** A sentence that says what to do. */
  readonly message: string;
  /** Information only: machines can be created. */
  readonly advice?: true;
}
