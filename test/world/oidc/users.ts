import { OidcUser } from './seed.ts';

/** The known users, and the current user of the browser. */
export class OidcUsers {
  readonly #known = new Map<string, OidcUser>();
  #present: OidcUser | undefined;

  constructor(people: readonly OidcUser[]) {
    for (const person of people) this.#known.set(person.subject, person);
    this.#present = people[0];
  }

  /** Sets the current user. A known user is replaced. */
  arrive(given: unknown): void {
    const person = OidcUser.parse(given);
    this.#known.set(person.subject, person);
    this.#present = person;
  }

  /** Removes the current user. */
  leave(): void {
    this.#present = undefined;
  }

  get present(): OidcUser | undefined {
    return this.#present;
  }

  findByPassword(name: string, password: string): OidcUser | undefined {
    const person = this.#known.get(name);
    return person?.password !== undefined && person.password === password ? person : undefined;
  }
}
