from segue.dialects.ralph import main

main()
